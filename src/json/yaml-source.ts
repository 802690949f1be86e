// Where a value is in the source of a YAML document, and the short form of YAML errors. Pure.
import { type Document, isMap, isScalar, isSeq, type Node, visit } from "yaml";

export type Path = readonly (string | number)[];

/** The offset of the deepest part of a path that exists in the source. For a map entry, the offset of its key. */
export function offsetOf(root: Node | null, path: readonly PropertyKey[]): number {
  let offset = root?.range?.[0] ?? 0;
  let node: unknown = root;
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(key));
      if (pair === undefined || !isScalar(pair.key)) return offset;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(key)];
      offset = rangeOf(node)?.[0] ?? offset;
    } else return offset;
  }
  return offset;
}

function rangeOf(node: unknown): readonly number[] | undefined {
  return isMap(node) || isSeq(node) || isScalar(node) ? (node.range ?? undefined) : undefined;
}

/** The key at an offset, if its map has the same key before: the key, and the offset of the first one. */
export function findTwice(document: Document, offset: number): { key: string; first: number } | undefined {
  let found: { key: string; first: number } | undefined;
  visit(document, {
    Map(_, { items }) {
      const keys = items.flatMap(({ key }) =>
        isScalar(key) && key.range ? [{ text: String(key.value), at: key.range[0] }] : [],
      );
      const second = keys.find(({ at }) => at === offset);
      const first = keys.find(({ text, at }) => text === second?.text && at < offset);
      if (second === undefined || first === undefined) return undefined;
      found = { key: second.text, first: first.at };
      return visit.BREAK;
    },
  });
  return found;
}

/** YAML errors continue with an excerpt of the source. */
export function firstLine(message: string): string {
  return message.split("\n", 1)[0] ?? message;
}
