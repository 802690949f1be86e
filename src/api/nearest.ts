// Finds the known name that is most similar to a mistyped one, for "did you mean ...?". Pure.

/** The Levenshtein distance. */
function distance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const removed = (previous[column] ?? 0) + 1;
      const added = (current[column - 1] ?? 0) + 1;
      current.push(Math.min(replaced, removed, added));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}

/**
 * The most similar candidate, or undefined if none is similar. The first of equals wins. Case is ignored: `loglevel` is
 * one typing error away from `logLevel`.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  // A third of the letters may differ, at least two. Beyond that a suggestion misleads.
  let best = Math.max(2, Math.floor(word.length / 3)) + 1;
  let found: string | undefined;
  for (const candidate of candidates) {
    // Two edits can replace every letter of a short name, which is not a typing error.
    const edits = distance(word.toLowerCase(), candidate.toLowerCase());
    if (edits < best && edits < candidate.length) {
      best = edits;
      found = candidate;
    }
  }
  return found;
}

/** The limit of Kubernetes names. A longer name is not a typing error. */
const MAX_NAME = 63;

/** More than any real JobSet has. Bounds the work on a hostile one. */
const MAX_CANDIDATES = 200;

/** Keeps the message short. */
const MAX_LISTED = 5;

/** What to use instead of an unknown name. Undefined if no name is known. */
export function suggestion(name: string, known: Iterable<string>): string | undefined {
  const candidates = [...known].filter((each) => each.length <= MAX_NAME).slice(0, MAX_CANDIDATES);
  if (candidates.length === 0) return undefined;
  const meant = name.length > MAX_NAME ? undefined : nearest(name, candidates);
  return meant === undefined
    ? `use one of: ${candidates.slice(0, MAX_LISTED).join(", ")}`
    : `did you mean ${JSON.stringify(meant)}?`;
}
