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
export const MAX_CODES = 254;

/** Enough for every code written out one by one with a space ("255, " is 5 characters), so no real list is cut. */
const MAX_TEXT = 5 * MAX_EXIT_CODE;

/** A wrong part may be a thousand characters long; a message needs only its beginning. */
const MAX_SHOWN = 60;

const PART = /^(\d{1,9})(?:\s*-\s*(\d{1,9}))?$/;

/** What is wrong with what was written for one class, and what to do about it. */
interface CodesProblem {
  readonly of: keyof ExitCodePolicy;
  readonly problem: string;
  readonly fix: string;
}

export type ReadClasses =
  | { readonly ok: true; readonly policy: ExitCodePolicy }
  | { readonly ok: false; readonly problems: readonly CodesProblem[] };

/** The classes in a JobSet's annotations. Absent annotations make empty classes. */
export function parseExitCodePolicy(annotations: Readonly<Record<string, unknown>>): ParsedPolicy {
  const written = (key: string) => (Object.hasOwn(annotations, key) ? annotations[key] : undefined);
  const read = readClasses(
    { fail: written(ANNOTATION.failExitCodes), recreate: written(ANNOTATION.recreateExitCodes) },
    ANNOTATION_OF,
  );
  if (read.ok) return read;
  return {
    ok: false,
    errors: read.problems.map(({ of, problem, fix }) => finding(ANNOTATION_OF[of], `${problem}; ${fix}`)),
  };
}

export const ANNOTATION_OF: Readonly<Record<keyof ExitCodePolicy, string>> = {
  fail: ANNOTATION.failExitCodes,
  recreate: ANNOTATION.recreateExitCodes,
};

/** The classes as they are written anywhere; `names` are what the two are called there. */
export function readClasses(
  written: Readonly<Record<keyof ExitCodePolicy, unknown>>,
  names: Readonly<Record<keyof ExitCodePolicy, string>>,
): ReadClasses {
  const problems: CodesProblem[] = [];
  const fail = codesOf("fail", written.fail, problems);
  const recreate = codesOf("recreate", written.recreate, problems);
  if (problems.length > 0) return { ok: false, problems };
  const together = checkTogether({ fail, recreate }, names.fail);
  return together === undefined ? { ok: true, policy: { fail, recreate } } : { ok: false, problems: [together] };
}

function checkTogether({ fail, recreate }: ExitCodePolicy, failName: string): CodesProblem | undefined {
  const shared = recreate.filter((code) => fail.includes(code));
  if (shared.length > 0) {
    return {
      of: "recreate",
      problem: `${spell(shared)} is also in ${failName}, and a code belongs to one class only`,
      fix: "remove it from one of the two",
    };
  }
  const count = fail.length + recreate.length;
  if (count <= MAX_CODES) return undefined;
  return {
    of: recreate.length > 0 ? "recreate" : "fail",
    problem: `${count} codes are in a class, and Kubernetes takes ${MAX_CODES} beside 0 in one rule`,
    fix: "leave at least one code to the restart in place",
  };
}

function codesOf(of: keyof ExitCodePolicy, text: unknown, problems: CodesProblem[]): readonly number[] {
  if (text === undefined || text === null) return [];
  if (typeof text !== "string" || text.length > MAX_TEXT) {
    const problem = `must be text of at most ${MAX_TEXT} characters`;
    problems.push({ of, problem, fix: 'write for example "40-50,137"' });
    return [];
  }
  if (text.trim() === "") {
    problems.push({ of, problem: "is empty", fix: 'write codes and ranges such as "40-50,137", or remove it' });
    return [];
  }
  const taken = new Map<number, string>();
  for (const part of text.split(",").map((item) => item.trim())) {
    const wrong = part === "" ? emptyPart(text) : takePart(part, taken);
    if (wrong !== undefined) {
      problems.push({ of, ...wrong });
      return [];
    }
  }
  return [...taken.keys()].sort((a, b) => a - b);
}

function emptyPart(text: string): Pick<CodesProblem, "problem" | "fix"> {
  return { problem: `${brief(text)} has nothing on one side of a comma`, fix: "remove the comma" };
}

function brief(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}

/** Adds the codes of one part; answers what is wrong with it, if anything is. */
function takePart(part: string, taken: Map<number, string>): Pick<CodesProblem, "problem" | "fix"> | undefined {
  const shown = brief(part);
  const [, from, to] = PART.exec(part) ?? [];
  if (from === undefined) {
    return { problem: `${shown} is not an exit code or a range`, fix: 'write for example "137" or "40-50"' };
  }
  const first = Number(from);
  const last = Number(to ?? from);
  if (first === 0 || last === 0) {
    return { problem: `${shown} names 0, which is success and has no failure class`, fix: "remove it" };
  }
  if (last > MAX_EXIT_CODE || first > MAX_EXIT_CODE) {
    return { problem: `${shown} goes beyond ${MAX_EXIT_CODE}, the largest exit code`, fix: "lower it" };
  }
  if (last < first) return { problem: `${shown} is a reversed range`, fix: `write "${last}-${first}"` };
  for (let code = first; code <= last; code++) {
    const earlier = taken.get(code);
    if (earlier !== undefined) {
      const problem = `${shown} repeats ${code}, which ${JSON.stringify(earlier)} already names`;
      return { problem, fix: "remove one of them" };
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
