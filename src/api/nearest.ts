// The known name nearest to a mistyped one, for "did you mean ...?". Pure.

/** Insertions, deletions and substitutions that turn one word into the other (Levenshtein). */
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
 * The candidate that the writer most likely meant, or undefined when none is near.
 * Case does not count: `loglevel` is one slip away from `logLevel`, not one per capital. The first of equals wins.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  // A third of the letters may differ (and always two): beyond that a suggestion is a guess that misleads.
  let best = Math.max(2, Math.floor(word.length / 3)) + 1;
  let found: string | undefined;
  for (const candidate of candidates) {
    // Replacing every letter of a short name is within two edits, and is not a slip.
    const edits = distance(word.toLowerCase(), candidate.toLowerCase());
    if (edits < best && edits < candidate.length) {
      best = edits;
      found = candidate;
    }
  }
  return found;
}

/** A Kubernetes name is no longer; what is was not mistyped, and is not worth comparing. */
const MAX_NAME = 63;

/** Enough to find the meant one among any real names, and a bound on the work that a hostile list can cause. */
const MAX_CANDIDATES = 200;

/** More would fill the screen. */
const MAX_LISTED = 5;

/** What to write instead of a name that is not among these; undefined when there are none. */
export function suggestion(name: string, known: Iterable<string>): string | undefined {
  const candidates = [...known].filter((each) => each.length <= MAX_NAME).slice(0, MAX_CANDIDATES);
  if (candidates.length === 0) return undefined;
  const meant = name.length > MAX_NAME ? undefined : nearest(name, candidates);
  return meant === undefined
    ? `use one of: ${candidates.slice(0, MAX_LISTED).join(", ")}`
    : `did you mean ${JSON.stringify(meant)}?`;
}
