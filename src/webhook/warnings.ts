// Fits admission warnings into the limits of the API server. Pure.

import { type Finding, findingText } from "../api/admission.ts";

/** Kubernetes recommends at most 256 characters per warning and may cut longer ones. */
const MAX_WARNING_CHARS = 256;

/**
 * Above 4096 characters from all webhooks of a request, the API server cuts every warning to 256 and then drops some.
 * Half of that leaves room for JobSet's webhooks and for our other one.
 */
const MAX_TOTAL_CHARS = 2_048;

const PREFIX = "reprise: ";

/** Room for the line that counts the omitted warnings. */
const LEFT_OUT_CHARS = 80;

/** The warnings as text: prefixed, printable and within the limits. */
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

/** Warnings are HTTP headers: the API server drops one that contains a control character. */
function printable(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ");
}

function cut(text: string): string {
  if (text.length <= MAX_WARNING_CHARS) return text;
  // A cut inside a surrogate pair would give invalid UTF-8.
  return `${text.slice(0, MAX_WARNING_CHARS - 1).replace(/[\uD800-\uDBFF]$/u, "")}…`;
}
