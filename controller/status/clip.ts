// Shortens text to fit a limit: reasons and names can have any length, and the API server rejects a status as a whole
// if one field is too long. Pure.

const MARK = "...";

/** At most `most` characters, cut after a word, or inside one if no word ends in the last third. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = text.slice(0, most - MARK.length);
  const word = head.lastIndexOf(" ");
  const kept = word > (head.length * 2) / 3 ? head.slice(0, word) : head;
  // The API server rejects half a surrogate pair.
  return `${kept.replace(/[\uD800-\uDBFF]$/, "")}${MARK}`;
}
