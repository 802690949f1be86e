// Lines and columns in the text of a YAML document, and where its nodes end. Pure.
import { isMap, isPair, isScalar, isSeq, type Node, Scalar } from "yaml";

export class SourceLines {
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  startOfLine(offset: number): number {
    return this.#source.lastIndexOf("\n", offset - 1) + 1;
  }

  /** The offset after the newline that ends the line. */
  endOfLine(offset: number): number {
    if (this.endsWithNewline(offset)) return offset;
    const newline = this.#source.indexOf("\n", offset);
    return newline === -1 ? this.#source.length : newline + 1;
  }

  endsWithNewline(offset: number): boolean {
    return this.#source[offset - 1] === "\n";
  }

  column(offset: number): number {
    return this.#before(offset).length;
  }

  isFirstOnLine(offset: number): boolean {
    return this.#before(offset).trim() === "";
  }

  leadingSpace(offset: number): string {
    return /^[ \t]*/.exec(this.#source.slice(this.startOfLine(offset)))?.[0] ?? "";
  }

  /** The start of the first of the comment and blank lines directly above. */
  aboveComments(offset: number): number {
    let start = this.startOfLine(offset);
    while (start > 0) {
      const above = this.startOfLine(start - 1);
      if (!/^\s*(?:#.*)?$/.test(this.#source.slice(above, start).trimEnd())) break;
      start = above;
    }
    return start;
  }

  /** Where to cut so that the text before `to` leaves no extra space behind. */
  withoutSpaceBefore(from: number, to: number): number {
    return /^\s?$/.test(this.#source[to] ?? "") ? this.#source.slice(0, from).trimEnd().length : from;
  }

  /** Whether the node is written on lines of its own, without brackets or quotes. */
  isBlock(node: unknown): boolean {
    if (isMap(node) || isSeq(node)) return node.flow !== true;
    return isScalar(node) && (node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED);
  }

  /** The offset after the last character of a node or pair. */
  endOf(item: unknown): number {
    if (isPair(item)) return this.endOf(item.value ?? item.key);
    if ((isMap(item) || isSeq(item)) && this.isBlock(item)) return this.endOf(item.items.at(-1));
    const [start = 0, end = 0] = isRanged(item) ? (item.range ?? []) : [];
    if (!this.isBlock(item)) return end;
    // Blank lines after a block scalar belong to it only with the indicator "+".
    const text = this.#source.slice(start, end);
    return /^[|>]\d?\+/.test(text) ? end : start + text.trimEnd().length;
  }

  /** The text of the line before the offset. A byte order mark has no width. */
  #before(offset: number): string {
    return this.#source.slice(this.startOfLine(offset), offset).replace("\uFEFF", "");
  }
}

function isRanged(item: unknown): item is Node {
  return typeof item === "object" && item !== null && "range" in item;
}
