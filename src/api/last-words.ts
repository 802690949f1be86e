// The last words of a container: the end of its termination message as plain text on one line. The kubelet fills that
// message from the end of the log, and any program may write to it: it can contain line breaks, colors and control
// characters. Pure.

/** Characters that are kept. The last line of a stack trace names the error, and fits. */
export const LAST_WORDS_LIMIT = 200;

const MARK = "...";

/** Sequences that a terminal obeys, such as colors: CSI sequences, then those of two characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes.
const ESCAPES = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[@-_]/g;

/** Control characters, invisible format characters, line breaks and runs of spaces. */
const BLANKS = /[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu;

/** Undefined if nothing readable is left. */
export function lastWords(message: string): string | undefined {
  const line = message.replace(ESCAPES, "").replace(BLANKS, " ").trim();
  if (line === "") return undefined;
  // Joined from characters: a slice would keep the whole message in memory.
  const characters = Array.from(line);
  if (characters.length <= LAST_WORDS_LIMIT) return characters.join("");
  const tail = characters.slice(MARK.length - LAST_WORDS_LIMIT).join("");
  const word = tail.indexOf(" ");
  return `${MARK}${word >= 0 && word < tail.length / 3 ? tail.slice(word + 1) : tail}`;
}
