// Exit-code classes as a user writes them ("40-50,137"). Pure. What is wrong is answered as findings that name the
// annotation, the part and the fix; nothing is ever guessed or silently dropped.
import type { Finding } from "../api/admission.ts";
import { ANNOTATION } from "../api/names.ts";

/** Sorted and free of repetition; the two classes share no code. Every other non-zero code restarts in place. */
export interface ExitCodePolicy {
  /** Not worth a retry: the JobSet fails at once. */
  readonly fail: readonly number[];
  /** Worth a retry, but in a new Pod. */
  readonly recreate: readonly number[];
}

export type ParsedPolicy =
  | { readonly ok: true; readonly policy: ExitCodePolicy }
  | { readonly ok: false; readonly errors: readonly Finding[] };

export const RESTART_EVERYTHING: ExitCodePolicy = { fail: [], recreate: [] };

/** An exit status is one byte. */
const MAX_EXIT_CODE = 255;

/** Kubernetes takes 255 values in one rule, and the rule of the workers needs one of them for 0. */
const MAX_CODES = 254;

/** Enough for every code written out one by one with a space ("255, " is 5 characters), so no real list is cut. */
const MAX_TEXT = 5 * MAX_EXIT_CODE;

const PART = /^(\d{1,9})(?:\s*-\s*(\d{1,9}))?$/;

/** The classes in a JobSet's annotations. Absent annotations make empty classes. */
export function parseExitCodePolicy(annotations: Readonly<Record<string, unknown>>): ParsedPolicy {
  const errors: Finding[] = [];
  const fail = codesOf(ANNOTATION.failExitCodes, annotations, errors);
  const recreate = codesOf(ANNOTATION.recreateExitCodes, annotations, errors);
  const shared = recreate.filter((code) => fail.includes(code));
  if (shared.length > 0) {
    const message =
      `${spell(shared)} is also in ${ANNOTATION.failExitCodes}, and a code belongs to one class only; ` +
      "remove it from one of the two annotations";
    errors.push(finding(ANNOTATION.recreateExitCodes, message));
  } else if (fail.length + recreate.length > MAX_CODES) {
    const message =
      `together with ${ANNOTATION.failExitCodes} it names ${fail.length + recreate.length} codes, and Kubernetes takes ` +
      `${MAX_CODES} beside 0 in one rule; leave at least one code to the restart in place`;
    errors.push(finding(ANNOTATION.recreateExitCodes, message));
  }
  return errors.length > 0 ? { ok: false, errors } : { ok: true, policy: { fail, recreate } };
}

function codesOf(key: string, annotations: Readonly<Record<string, unknown>>, errors: Finding[]): readonly number[] {
  const text = Object.hasOwn(annotations, key) ? annotations[key] : undefined;
  if (text === undefined || text === null) return [];
  if (typeof text !== "string" || text.length > MAX_TEXT) {
    errors.push(finding(key, `must be text of at most ${MAX_TEXT} characters such as "40-50,137"`));
    return [];
  }
  const taken = new Map<number, string>();
  for (const part of text.split(",").map((item) => item.trim())) {
    const problem = takePart(part, taken);
    if (problem !== undefined) {
      errors.push(finding(key, problem));
      return [];
    }
  }
  return [...taken.keys()].sort((a, b) => a - b);
}

/** Adds the codes of one part; answers what is wrong with it, if anything is. */
function takePart(part: string, taken: Map<number, string>): string | undefined {
  const shown = JSON.stringify(part);
  if (part === "") return `has an empty part; write codes and ranges separated by commas, such as "40-50,137"`;
  const [, from, to] = PART.exec(part) ?? [];
  if (from === undefined) return `${shown} is not an exit code or a range; write for example "137" or "40-50"`;
  const first = Number(from);
  const last = Number(to ?? from);
  if (first === 0 || last === 0) return `${shown} names 0, which is success and has no failure class; remove it`;
  if (last > MAX_EXIT_CODE || first > MAX_EXIT_CODE) {
    return `${shown} goes beyond ${MAX_EXIT_CODE}, the largest exit code; lower it`;
  }
  if (last < first) return `${shown} is a reversed range; write "${last}-${first}"`;
  for (let code = first; code <= last; code++) {
    const earlier = taken.get(code);
    if (earlier !== undefined) {
      return `${shown} repeats ${code}, which ${JSON.stringify(earlier)} already names; remove one of them`;
    }
    taken.set(code, part);
  }
  return undefined;
}

/** Codes as a user would write them: runs become ranges. */
export function spell(codes: readonly number[]): string {
  const runs: { first: number; last: number }[] = [];
  for (const code of codes) {
    const run = runs.at(-1);
    if (run !== undefined && code === run.last + 1) run.last = code;
    else runs.push({ first: code, last: code });
  }
  return runs.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

function finding(key: string, message: string): Finding {
  return { rule: "exit-codes", path: `metadata.annotations[${key}]`, message };
}
