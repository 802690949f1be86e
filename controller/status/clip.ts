// Text that has to fit: others write reasons and names of any length, and a status that is too long is refused as a whole. Pure.

const MARK = "...";

/** At most `most` characters, as short as need be and visibly so: cut after a word, or where none ends in the last third, inside one. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = text.slice(0, most - MARK.length);
  const word = head.lastIndexOf(" ");
  const kept = word > (head.length * 2) / 3 ? head.slice(0, word) : head;
  // Half a character is none that the API server takes.
  return `${kept.replace(/[\uD800-\uDBFF]$/, "")}${MARK}`;
}
