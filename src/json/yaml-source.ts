// Where a value is in the source of a YAML document, and the short form of YAML errors. Pure.
import { isMap, isScalar, isSeq, type Node } from "yaml";

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

/** YAML errors continue with an excerpt of the source. */
export function firstLine(message: string): string {
  return message.split("\n", 1)[0] ?? message;
}
