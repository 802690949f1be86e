// Counts how often code reads a Map or a Set. A scaling test that compares counts gives the same result on every
// machine; one that compares times does not.

const ITERATORS: readonly object[] = [Object.getPrototypeOf(new Map().keys()), Object.getPrototypeOf(new Set().keys())];
const READS: readonly (readonly [object, string])[] = [
  ...ITERATORS.map((prototype) => [prototype, "next"] as const),
  [Map.prototype, "get"],
  [Map.prototype, "has"],
  [Set.prototype, "has"],
];

/** The number of lookups, and of elements visited by iteration, that `work` makes in Maps and Sets. */
export function countLookups(work: () => void): number {
  let count = 0;
  const undo = READS.map(([prototype, name]) => {
    const original = Object.getOwnPropertyDescriptor(prototype, name);
    const method: unknown = original?.value;
    if (original === undefined || typeof method !== "function") throw new Error(`no method ${name}`);
    Object.defineProperty(prototype, name, {
      ...original,
      value: function counted(this: unknown, ...parameters: readonly unknown[]): unknown {
        count += 1;
        return Reflect.apply(method, this, parameters);
      },
    });
    return () => Object.defineProperty(prototype, name, original);
  });
  try {
    work();
  } finally {
    for (const restore of undo) restore();
  }
  return count;
}
