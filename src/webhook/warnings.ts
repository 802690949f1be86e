// Makes admission warnings fit what the API server passes on to the user. Pure.

import { type Finding, findingText } from "../api/admission.ts";

/** Kubernetes asks for at most 256 characters each, and may cut what is longer. */
const MAX_WARNING_CHARS = 256;

/**
 * Above 4096 characters over all webhooks of one request the API server cuts every warning to 256 and then drops some.
 * Half of that leaves room for JobSet's own webhooks, and for our other one.
 */
const MAX_TOTAL_CHARS = 2_048;

const PREFIX = "reprise: ";

/** Room kept for the line that counts what was left out. */
const LEFT_OUT_CHARS = 80;

/** The warnings as they go on the wire: prefixed, printable, each and all together within the limits. */
export function boundWarnings(warnings: readonly Finding[]): string[] {
  const bounded: string[] = [];
  let total = 0;
  for (const [index, warning] of warnings.entries()) {
    const line = cut(`${PREFIX}${printable(findingText(warning))}`);
    const isLast = index === warnings.length - 1;
    if (total + line.length > MAX_TOTAL_CHARS - (isLast ? 0 : LEFT_OUT_CHARS)) {
      bounded.push(`${PREFIX}${warnings.length - index} more warnings; run "reprise validate" to see all`);
      break;
    }
    bounded.push(line);
    total += line.length;
  }
  return bounded;
}

/** A warning travels in an HTTP header: the API server drops one that has a control character in it. */
function printable(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ");
}

function cut(text: string): string {
  if (text.length <= MAX_WARNING_CHARS) return text;
  // A cut between the halves of a surrogate pair would leave text that is not valid UTF-8.
  return `${text.slice(0, MAX_WARNING_CHARS - 1).replace(/[\uD800-\uDBFF]$/u, "")}…`;
}
