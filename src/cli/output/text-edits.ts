// Changes YAML or JSON in its text, so that every line without a change stays as its author wrote it. Pure. The caller
// checks the result: YAML allows more than what is handled here.
import { isAlias, isMap, isPair, isScalar, isSeq, type Pair, type YAMLMap, type YAMLSeq } from "yaml";
import { isObject } from "../../json/edit.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { align } from "./align.ts";
import { SourceLines } from "./source-lines.ts";
import { blockLines, inlinePair, inlineText, jsonLines, type Style } from "./value-text.ts";

interface Options {
  readonly source: string;
  readonly style: Style;
  /** Also writes out aliases whose value stays, because the text of their anchor may change. */
  readonly expandAliases: boolean;
}

/** The text after the root node changed its value. Undefined if it cannot be changed piece by piece. */
export function editedText(root: unknown, before: Json, after: Json, options: Options): string | undefined {
  const edits = new TextEdits(options);
  return edits.change(root, before, after, undefined) ? edits.apply() : undefined;
}

/** Replaces the text between two offsets. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Where a value is: in a list, or in a pair of a map. */
type Place = { readonly parent: YAMLSeq } | { readonly parent: YAMLMap; readonly pair: Pair };

/** Methods return false if they cannot make the change. Edits at the same offset apply in the order they are made. */
class TextEdits {
  readonly #source: string;
  readonly #lines: SourceLines;
  readonly #style: Style;
  readonly #expandAliases: boolean;
  readonly #edits: Edit[] = [];

  constructor({ source, style, expandAliases }: Options) {
    this.#source = source;
    this.#lines = new SourceLines(source);
    this.#style = style;
    this.#expandAliases = expandAliases;
  }

  apply(): string {
    const newline = this.#source.includes("\r\n") ? "\r\n" : "\n";
    let [text, done] = ["", 0];
    for (const edit of [...this.#edits].sort((a, b) => a.from - b.from)) {
      text += this.#source.slice(done, edit.from) + edit.text.replaceAll("\n", newline);
      done = edit.to;
    }
    return text + this.#source.slice(done);
  }

  change(node: unknown, before: Json, after: Json, place: Place | undefined): boolean {
    if (before === after && !this.#expandAliases) return true;
    if (isMap(node) && node.items.length > 0 && isObject(before) && isObject(after)) {
      return this.#changeMap(node, before, after);
    }
    if (isSeq(node) && node.items.length > 0 && Array.isArray(before) && Array.isArray(after)) {
      return this.#changeSeq(node, before, after);
    }
    if (before === after && !isAlias(node)) return true;
    return place !== undefined && this.#replace(node, after, place);
  }

  #changeMap(map: YAMLMap, before: JsonObject, after: JsonObject): boolean {
    const added: JsonObject = {};
    for (const [key, was] of Object.entries(before)) {
      const is = after[key];
      const pair = map.items.find((item) => isScalar(item.key) && String(item.key.value) === key);
      if (is === undefined) {
        if (pair === undefined || !this.#removeLines(map, startOf(pair), pair)) return false;
      } else if (pair === undefined) {
        // It comes from a merge key (<<). A value of the map's own wins over it.
        if (was !== is) added[key] = is;
      } else if (!this.change(pair.value, was, is, { parent: map, pair })) return false;
    }
    for (const [key, value] of Object.entries(after)) if (!Object.hasOwn(before, key)) added[key] = value;
    return Object.keys(added).length === 0 || this.#addPairs(map, added);
  }

  #changeSeq(seq: YAMLSeq, before: readonly Json[], after: readonly Json[]): boolean {
    return align(before, after).every((step) => {
      if (step.kind === "add") return this.#addItem(seq, step.at, after[step.now] ?? null);
      const item = seq.items[step.old];
      if (step.kind === "remove") return this.#removeLines(seq, this.#dashOf(item), item);
      return this.change(item, before[step.old] ?? null, after[step.now] ?? null, { parent: seq });
    });
  }

  #addPairs(map: YAMLMap, added: JsonObject): boolean {
    if (map.flow !== true) {
      const lines = blockLines(added, this.#style, this.#lines.column(startOf(map.items[0])));
      return this.#insertLines(this.#lines.endOf(map), lines);
    }
    return Object.entries(added).every(([key, value]) =>
      this.#insertInline(map, map.items.length, (leading) =>
        leading === undefined || this.#style.form === "yaml"
          ? inlinePair(key, value, this.#style)
          : `${JSON.stringify(key)}: ${jsonLines(value, this.#style, leading)}`,
      ),
    );
  }

  #addItem(seq: YAMLSeq, at: number, value: Json): boolean {
    if (seq.flow === true) return this.#insertInline(seq, at, (leading) => this.#inline(value, leading));
    const dash = seq.range?.[0] ?? 0;
    if (this.#source[dash] !== "-") return false;
    const column = this.#lines.column(dash);
    const lines = blockLines([value], this.#style, column);
    if (at > 0) return this.#insertLines(this.#lines.endOf(seq.items[at - 1]), lines);
    // A comment above the first item belongs to that item, so the new one comes before it.
    if (this.#lines.isFirstOnLine(dash)) return this.#push(this.#lines.aboveComments(dash), lines);
    return this.#push(dash, lines.trimStart() + " ".repeat(column));
  }

  /** Between brackets. `textOf` gets the indentation if the collection has its items on lines of their own. */
  #insertInline(collection: YAMLMap | YAMLSeq, at: number, textOf: (leading: string | undefined) => string): boolean {
    const first = startOf(collection.items[0]);
    const isOnLines = this.#source.slice(collection.range?.[0] ?? first, first).includes("\n");
    const leading = isOnLines ? this.#lines.leadingSpace(first) : undefined;
    const gap = leading === undefined ? " " : `\n${leading}`;
    const text = textOf(leading);
    if (at === 0) return this.#push(first, `${text},${gap}`);
    return this.#push(this.#lines.endOf(collection.items[at - 1]), `,${gap}${text}`);
  }

  #inline(value: Json, leading: string | undefined): string {
    const isJson = this.#style.jsonIndent !== "" && leading !== undefined;
    return isJson ? jsonLines(value, this.#style, leading) : inlineText(value, this.#style);
  }

  #replace(node: unknown, value: Json, place: Place): boolean {
    if (!(isScalar(node) || isAlias(node) || isMap(node) || isSeq(node)) || !node.range) return false;
    const [from, to] = node.range;
    const gap = from === to && /\S/.test(this.#source[from - 1] ?? "") ? " " : "";
    if (place.parent.flow === true) {
      return this.#push(from, gap + this.#inline(value, this.#lines.leadingSpace(from)), to);
    }
    if (this.#lines.isBlock(node)) return false;
    if (!isFilled(value)) return this.#push(from, gap + inlineText(value, this.#style), to);
    if (!("pair" in place)) {
      const lines = blockLines(value, this.#style, this.#lines.column(from) + gap.length);
      return this.#push(from, gap + lines.trim(), to);
    }
    const { key } = place.pair;
    if (!isScalar(key)) return false;
    const lines = blockLines({ [String(key.value)]: value }, this.#style, this.#lines.column(startOf(place.pair)));
    if (from < to) this.#push(this.#lines.withoutSpaceBefore(from, to), "", to);
    return this.#insertLines(to, lines.slice(lines.indexOf("\n") + 1));
  }

  #removeLines(collection: YAMLMap | YAMLSeq, start: number, item: unknown): boolean {
    if (collection.flow === true || collection.items.length === 1 || !this.#lines.isFirstOnLine(start)) return false;
    return this.#push(this.#lines.startOfLine(start), "", this.#lines.endOfLine(this.#lines.endOf(item)));
  }

  #dashOf(item: unknown): number {
    return this.#source.lastIndexOf("-", startOf(item) - 1);
  }

  /** Whole lines, after the line that contains the offset. */
  #insertLines(after: number, lines: string): boolean {
    const at = this.#lines.endOfLine(after);
    return this.#push(at, this.#lines.endsWithNewline(at) ? lines : `\n${lines.trimEnd()}`);
  }

  #push(from: number, text: string, to = from): boolean {
    this.#edits.push({ from, to, text });
    return true;
  }
}

function startOf(item: unknown): number {
  if (isPair(item)) return startOf(item.key);
  const isCollection = isMap(item) || isSeq(item);
  return (isCollection || isScalar(item) || isAlias(item) ? item.range?.[0] : undefined) ?? 0;
}

function isFilled(value: Json): value is JsonObject | Json[] {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}
