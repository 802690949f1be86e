/** Compares plain JSON, in any order of fields. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const [left, right] = [Object.entries(a), Object.entries(b)];
  const other = new Map(right);
  return left.length === right.length && left.every(([key, value]) => other.has(key) && isEqual(value, other.get(key)));
}
