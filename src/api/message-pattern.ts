// The regular expressions of failurePolicy rules, in the syntax of RE2 that JobSet uses. They are a user's, and the
// engine of JavaScript may take exponential time for one: here all alternatives advance together, so a match takes
// linear time. What is not supported is reported and matches nothing. Pure.

/** Whether the pattern occurs anywhere in the text. */
type MessageMatcher = (text: string) => boolean;

/** Undefined for a pattern that is invalid, too long, or uses a construct that is not supported (\p, \Q, \C). */
export function compilePattern(pattern: string): MessageMatcher | undefined {
  if (pattern.length > LONGEST_PATTERN) return undefined;
  try {
    const program = new Parser([...pattern]).parse();
    return (text) => occurs(program, text);
  } catch (error) {
    if (error instanceof Unsupported) return undefined;
    throw error;
  }
}

/** Patterns of rules are short. The limits bound the work for one that is not. */
const LONGEST_PATTERN = 1_000;
const LONGEST_PROGRAM = 5_000;

class Unsupported extends Error {}

type Accepts = (code: number) => boolean;

/** Positions are relative, so programs can be joined without changes. */
type Instruction =
  | { readonly kind: "take"; readonly accepts: Accepts }
  | { readonly kind: "check"; readonly holds: (before: number | undefined, after: number | undefined) => boolean }
  | { readonly kind: "go"; readonly to: readonly number[] };

type Program = readonly Instruction[];

function occurs(program: Program, text: string): boolean {
  const codes = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  let active: ReadonlySet<number> = new Set();
  for (let at = 0; at <= codes.length; at += 1) {
    // A match may begin at every character.
    const reached = follow(program, [...active, 0], codes[at - 1], codes[at]);
    if (reached.has(program.length)) return true;
    active = new Set([...reached].filter((position) => takes(program[position], codes[at])).map((each) => each + 1));
  }
  return false;
}

function takes(instruction: Instruction | undefined, code: number | undefined): boolean {
  return instruction?.kind === "take" && code !== undefined && instruction.accepts(code);
}

/** All positions that can be reached without a character. */
function follow(program: Program, from: number[], before: number | undefined, after: number | undefined): Set<number> {
  const reached = new Set<number>();
  for (let position = from.pop(); position !== undefined; position = from.pop()) {
    if (reached.has(position)) continue;
    reached.add(position);
    const instruction = program[position];
    if (instruction?.kind === "go") for (const step of instruction.to) from.push(position + step);
    else if (instruction?.kind === "check" && instruction.holds(before, after)) from.push(position + 1);
  }
  return reached;
}

function limited(program: Program): Program {
  if (program.length > LONGEST_PROGRAM) throw new Unsupported();
  return program;
}

function either(a: Program, b: Program): Program {
  const [begin, skip] = [go(1, a.length + 2), go(b.length + 1)];
  return limited([begin, ...a, skip, ...b]);
}

function repeated(part: Program, least: number, most: number): Program {
  const copies = Number.isFinite(most) ? most : least + 1;
  if (part.length * copies > LONGEST_PROGRAM || most < least) throw new Unsupported();
  const required = Array.from({ length: least }, () => part).flat();
  if (!Number.isFinite(most)) return [...required, go(1, part.length + 2), ...part, go(-(part.length + 1))];
  const optional = Array.from({ length: most - least }, () => [go(1, part.length + 1), ...part]).flat();
  return limited([...required, ...optional]);
}

function go(...to: readonly number[]): Instruction {
  return { kind: "go", to };
}

interface Flags {
  readonly ignoreCase: boolean;
  readonly multiLine: boolean;
  readonly dotAll: boolean;
}

const NEWLINE = 10;

const isDigit: Accepts = (code) => code >= 48 && code <= 57;
const isUpper: Accepts = (code) => code >= 65 && code <= 90;
const isLower: Accepts = (code) => code >= 97 && code <= 122;
const isLetter: Accepts = (code) => isUpper(code) || isLower(code);
const isWord: Accepts = (code) => isLetter(code) || isDigit(code) || code === 95;
const isSpace: Accepts = (code) => code === 32 || code === 9 || code === NEWLINE || code === 12 || code === 13;
const isGraphic: Accepts = (code) => code > 32 && code < 127;

/** As in RE2, these are ASCII. */
const CLASSES: Readonly<Record<string, Accepts>> = { d: isDigit, w: isWord, s: isSpace };
const POSIX_CLASSES: Readonly<Record<string, Accepts>> = {
  alnum: (code) => isLetter(code) || isDigit(code),
  alpha: isLetter,
  ascii: (code) => code < 128,
  blank: (code) => code === 9 || code === 32,
  cntrl: (code) => code < 32 || code === 127,
  digit: isDigit,
  graph: isGraphic,
  lower: isLower,
  print: (code) => isGraphic(code) || code === 32,
  punct: (code) => isGraphic(code) && !isLetter(code) && !isDigit(code),
  space: (code) => isSpace(code) || code === 11,
  upper: isUpper,
  word: isWord,
  xdigit: (code) => isDigit(code) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102),
};
const CONTROLS: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: NEWLINE, r: 13, v: 11 };

const isWordAt = (code: number | undefined): boolean => code !== undefined && isWord(code);

/** Parses by recursive descent, and emits the program directly. */
class Parser {
  readonly #characters: readonly string[];
  #at = 0;
  #flags: Flags = { ignoreCase: false, multiLine: false, dotAll: false };

  constructor(characters: readonly string[]) {
    this.#characters = characters;
  }

  parse(): Program {
    const program = this.#alternatives();
    // Only a closing parenthesis without an opening one is left over.
    if (this.#at < this.#characters.length) throw new Unsupported();
    return program;
  }

  get #next(): string | undefined {
    return this.#characters[this.#at];
  }

  #skip(expected: string): boolean {
    if (!this.#rest(expected.length).startsWith(expected)) return false;
    this.#at += expected.length;
    return true;
  }

  #rest(length: number): string {
    return this.#characters.slice(this.#at, this.#at + length).join("");
  }

  #take(): string {
    const character = this.#next;
    if (character === undefined) throw new Unsupported();
    this.#at += 1;
    return character;
  }

  #alternatives(): Program {
    const { dotAll, ignoreCase, multiLine } = this.#flags;
    const branch = this.#sequence();
    const program = this.#skip("|") ? either(branch, this.#alternatives()) : branch;
    // Flags that were set inside a group end with it.
    this.#flags = { dotAll, ignoreCase, multiLine };
    return program;
  }

  #sequence(): Program {
    const parts: Program[] = [];
    while (this.#next !== undefined && this.#next !== "|" && this.#next !== ")") {
      parts.push(this.#quantified(this.#atom()));
    }
    return limited(parts.flat());
  }

  #quantified(part: Program): Program {
    const range = this.#quantifier();
    if (range === undefined) return part;
    // Lazy or greedy makes no difference to whether there is a match.
    this.#skip("?");
    // Like Go, without a second quantifier: a** is an error.
    if (this.#quantifier() !== undefined) throw new Unsupported();
    return repeated(part, range.least, range.most);
  }

  #quantifier(): { readonly least: number; readonly most: number } | undefined {
    if (this.#skip("*")) return { least: 0, most: Number.POSITIVE_INFINITY };
    if (this.#skip("+")) return { least: 1, most: Number.POSITIVE_INFINITY };
    if (this.#skip("?")) return { least: 0, most: 1 };
    // A brace that begins no repetition is a literal.
    const [all, least, comma, most] = /^\{(\d{1,4})(,?)(\d{0,4})\}/.exec(this.#rest(12)) ?? [];
    if (all === undefined || (comma === "" && most !== "")) return undefined;
    this.#at += all.length;
    const unbounded = comma === "," && most === "";
    return { least: Number(least), most: unbounded ? Number.POSITIVE_INFINITY : Number(most || least) };
  }

  #atom(): Program {
    const character = this.#take();
    const { dotAll, multiLine } = this.#flags;
    switch (character) {
      case "(":
        return this.#group();
      case "[":
        return this.#taking(this.#set());
      case ".":
        return this.#taking((code) => dotAll || code !== NEWLINE);
      case "^":
        return check((before) => before === undefined || (multiLine && before === NEWLINE));
      case "$":
        return check((_, after) => after === undefined || (multiLine && after === NEWLINE));
      case "*":
      case "+":
      case "?":
        throw new Unsupported();
      case "\\":
        return this.#escape();
      default:
        return this.#taking(only(character));
    }
  }

  #group(): Program {
    const outer = this.#flags;
    const [all, inFlags, named] = /^\?(?:([a-zA-Z-]*)[:)]|P?<(\w+)>)/.exec(this.#rest(200)) ?? [];
    if (this.#next === "?" && all === undefined) throw new Unsupported();
    this.#at += all?.length ?? 0;
    if (named === undefined) this.#setFlags(inFlags ?? "");
    // (?i) sets flags for the rest of the group around it.
    if (all?.endsWith(")") === true) return [];
    const program = this.#alternatives();
    if (!this.#skip(")")) throw new Unsupported();
    this.#flags = outer;
    return program;
  }

  #setFlags(written: string): void {
    const [on = "", off = ""] = written.split("-");
    if (!/^[imsU]*(?:-[imsU]+)?$/.test(written)) throw new Unsupported();
    const is = (flag: string, before: boolean) => (on.includes(flag) || before) && !off.includes(flag);
    const { ignoreCase, multiLine, dotAll } = this.#flags;
    this.#flags = { ignoreCase: is("i", ignoreCase), multiLine: is("m", multiLine), dotAll: is("s", dotAll) };
  }

  #escape(): Program {
    if (this.#skip("b")) return check((before, after) => isWordAt(before) !== isWordAt(after));
    if (this.#skip("B")) return check((before, after) => isWordAt(before) === isWordAt(after));
    if (this.#skip("A")) return check((before) => before === undefined);
    if (this.#skip("z")) return check((_, after) => after === undefined);
    return this.#taking(this.#escapedClass() ?? equals(this.#escapedCode()));
  }

  #escapedClass(): Accepts | undefined {
    const name = this.#next ?? "";
    const accepts = CLASSES[name.toLowerCase()];
    if (accepts === undefined) return undefined;
    this.#at += 1;
    return name === name.toLowerCase() ? accepts : (code) => !accepts(code);
  }

  #escapedCode(): number {
    const [hex, digits, braced] = /^x(?:([\da-fA-F]{2})|\{([\da-fA-F]{1,6})\})/.exec(this.#rest(9)) ?? [];
    if (hex !== undefined) {
      this.#at += hex.length;
      return Number.parseInt(digits ?? braced ?? "", 16);
    }
    const character = this.#take();
    const code = character.codePointAt(0) ?? 0;
    // Only punctuation stands for itself. Other letters and digits are constructs that are not supported here.
    if (code < 128 && !isWord(code)) return code;
    const control = CONTROLS[character];
    if (control === undefined) throw new Unsupported();
    return control;
  }

  #set(): Accepts {
    const isNegated = this.#skip("^");
    const members: Accepts[] = [];
    // A bracket in the first place is a member.
    while (members.length === 0 || this.#next !== "]") members.push(this.#setMember());
    this.#at += 1;
    const accepts = this.#folded((code) => members.some((member) => member(code)));
    return isNegated ? (code) => !accepts(code) : accepts;
  }

  #setMember(): Accepts {
    const [posix, not, name = ""] = /^\[:(\^?)(\w+):\]/.exec(this.#rest(12)) ?? [];
    if (posix !== undefined) {
      const accepts = POSIX_CLASSES[name];
      if (accepts === undefined) throw new Unsupported();
      this.#at += posix.length;
      return not === "" ? accepts : (code) => !accepts(code);
    }
    const first = this.#take();
    if (first === "\\") {
      const accepts = this.#escapedClass();
      if (accepts !== undefined) return accepts;
    }
    const low = first === "\\" ? this.#escapedCode() : (first.codePointAt(0) ?? 0);
    const isRange = this.#next === "-" && this.#characters[this.#at + 1] !== "]";
    if (!isRange) return equals(low);
    this.#at += 1;
    const last = this.#take();
    const high = last === "\\" ? this.#escapedCode() : (last.codePointAt(0) ?? 0);
    if (high < low) throw new Unsupported();
    return (code) => code >= low && code <= high;
  }

  #taking(accepts: Accepts): Program {
    return [{ kind: "take", accepts: this.#folded(accepts) }];
  }

  #folded(accepts: Accepts): Accepts {
    if (!this.#flags.ignoreCase) return accepts;
    return (code) => {
      const character = String.fromCodePoint(code);
      return [character, character.toLowerCase(), character.toUpperCase()].some((each) =>
        accepts(each.codePointAt(0) ?? 0),
      );
    };
  }
}

function check(holds: (before: number | undefined, after: number | undefined) => boolean): Program {
  return [{ kind: "check", holds }];
}

function only(character: string): Accepts {
  return equals(character.codePointAt(0) ?? 0);
}

function equals(expected: number): Accepts {
  return (code) => code === expected;
}
