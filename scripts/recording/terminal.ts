// What a program has shown on a terminal, line by line over time. It understands what the demo prints: colors, cursor
// up, and erasing. Lines are never removed, as in a terminal with an endless history. Pure.

/** What was printed, and when, in seconds. */
export interface Output {
  readonly at: number;
  readonly text: string;
}

/** A stretch of a line in one look. The look is that of SGR: a color, bold, faint. */
export interface Span {
  readonly text: string;
  readonly style: Style;
}

interface Style {
  readonly color?: Color;
  readonly bold?: boolean;
}

const COLORS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
export type Color = (typeof COLORS)[number];

/** The content of a line from one time to the next. */
interface Version {
  readonly line: number;
  readonly from: number;
  /** Absent if it stays to the end. */
  readonly to?: number;
  readonly spans: readonly Span[];
}

export interface Recording {
  readonly versions: readonly Version[];
  /** When the cursor was first on each line. */
  readonly reached: readonly number[];
}

interface Cell {
  readonly character: string;
  readonly style: Style;
}

/** Other sequences, such as those that hide the cursor, have no effect here. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const TOKEN = /\u001b\[([?0-9;]*)([A-Za-z])|\r\n|[\r\n]|[^\u001b\r\n]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const CUT_OFF = /\u001b[^A-Za-z]*$/;

export function record(outputs: readonly Output[]): Recording {
  const terminal = new Terminal();
  const open = new Map<number, Version>();
  const versions: Version[] = [];
  const reached: number[] = [0];
  let rest = "";
  for (const { at, text } of outputs) {
    const whole = rest + text;
    rest = CUT_OFF.exec(whole)?.[0] ?? "";
    const changed = terminal.print(whole.slice(0, whole.length - rest.length));
    while (reached.length < terminal.lines.length) reached.push(at);
    for (const line of changed) {
      const before = open.get(line);
      const spans = spansOf(terminal.lines[line] ?? []);
      if (before !== undefined && JSON.stringify(before.spans) === JSON.stringify(spans)) continue;
      if (before !== undefined && before.from < at) versions.push({ ...before, to: at });
      open.set(line, { line, from: at, spans });
    }
  }
  return { versions: [...versions, ...open.values()].filter(({ spans }) => spans.length > 0), reached };
}

class Terminal {
  readonly lines: Cell[][] = [[]];
  readonly #changed = new Set<number>();
  #row = 0;
  #column = 0;
  #style: Style = {};

  /** Returns the lines that have changed. */
  print(text: string): ReadonlySet<number> {
    this.#changed.clear();
    for (const [token, parameters = "", command] of text.matchAll(TOKEN)) {
      if (command !== undefined) this.#obey(command, parameters);
      else if (token === "\r") this.#column = 0;
      else if (token.endsWith("\n")) this.#newLine();
      else this.#put(token);
    }
    return this.#changed;
  }

  #obey(command: string, parameters: string): void {
    if (command === "m") this.#style = styled(this.#style, parameters);
    if (command === "A") this.#row = Math.max(0, this.#row - Number(parameters || 1));
    if (command === "K") this.#erase(this.#row, parameters === "2" ? 0 : this.#column);
    if (command === "J") {
      this.#erase(this.#row, this.#column);
      for (let line = this.#row + 1; line < this.lines.length; line += 1) this.#erase(line, 0);
    }
  }

  #newLine(): void {
    this.#column = 0;
    this.#row += 1;
    if (this.#row === this.lines.length) this.lines.push([]);
  }

  #put(character: string): void {
    const line = this.lines[this.#row] ?? [];
    while (line.length < this.#column) line.push({ character: " ", style: {} });
    line[this.#column] = { character, style: this.#style };
    this.#column += 1;
    this.#changed.add(this.#row);
  }

  #erase(line: number, from: number): void {
    this.lines[line]?.splice(from);
    this.#changed.add(line);
  }
}

function styled(before: Style, parameters: string): Style {
  let { color, bold } = before;
  for (const code of parameters.split(";").map(Number)) {
    if (code === 0 || code === 39) color = undefined;
    if (code === 0 || code === 22) bold = undefined;
    if (code === 1) bold = true;
    color = COLORS[code - 30] ?? color;
  }
  return { ...(color === undefined ? {} : { color }), ...(bold === undefined ? {} : { bold }) };
}

function spansOf(cells: readonly Cell[]): readonly Span[] {
  const spans: { text: string; style: Style }[] = [];
  for (const { character, style } of cells) {
    const last = spans.at(-1);
    if (last !== undefined && last.style.color === style.color && last.style.bold === style.bold)
      last.text += character;
    else spans.push({ text: character, style });
  }
  while (spans.at(-1)?.text.trim() === "") spans.pop();
  return spans;
}

/** Nobody wants to watch a cluster start, and nobody reads a page in no time. */
export function paced(
  outputs: readonly Output[],
  { longest, perLine }: { longest: number; perLine: number },
): Output[] {
  let [last, now] = [outputs[0]?.at ?? 0, 0];
  let lines = 0;
  return outputs.map(({ at, text }) => {
    now += Math.max(Math.min(at - last, longest), Math.min(lines * perLine, longest));
    last = at;
    lines = text.split("\n").length - 1;
    return { at: now, text };
  });
}
