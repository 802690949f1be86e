// A request for a restart by hand: the value of one annotation of the JobSet. Each value restarts the group once. Pure.
import { ANNOTATION } from "./names.ts";

/** Characters of a request: as many as a cause has for last words. */
const REQUEST_LIMIT = 200;

/** Requests that the status remembers. Every write sends all of it. */
export const HANDLED_REQUESTS_LIMIT = 5;

export const REQUEST_FORM = `a text of 1 to ${REQUEST_LIMIT} characters in one line`;

const FORM = new RegExp(`^(?=.*\\S)[^\\p{Cc}]{1,${REQUEST_LIMIT}}$`, "u");

export function isRestartRequest(text: string): boolean {
  return FORM.test(text);
}

/** Undefined without a request. One that validation would reject is none. */
export function requestedRestart(annotations: Readonly<Record<string, string>>): string | undefined {
  const text = annotations[ANNOTATION.restartRequest];
  return text !== undefined && isRestartRequest(text) ? text : undefined;
}
