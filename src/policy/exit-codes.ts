// Exit-code classes as users write them ("40-50,137"). Pure. Every problem names the annotation, the invalid part and
// the fix. Nothing is guessed or silently dropped.
import { annotationPath, type Finding } from "../api/admission.ts";
import { ANNOTATION } from "../api/names.ts";
import { quoted } from "../json/brief.ts";

/** Sorted, without duplicates. The two classes share no code. Every other non-zero code restarts in place. */
export interface ExitCodePolicy {
  /** A retry would not help: the JobSet fails at once. */
  readonly fail: readonly number[];
  /** A retry needs a new Pod. */
  readonly recreate: readonly number[];
}

export type ParsedPolicy =
  | { readonly ok: true; readonly policy: ExitCodePolicy }
  | { readonly ok: false; readonly errors: readonly Finding[] };

export const RESTART_EVERYTHING: ExitCodePolicy = { fail: [], recreate: [] };

/** An exit status is one byte. */
const MAX_EXIT_CODE = 255;

/** Kubernetes allows 255 values in one rule, and the rule of the workers needs one of them for 0. */
export const MAX_CODES = 254;

/** Fits a list of every single code ("255, " is 5 characters). */
const MAX_TEXT = 5 * MAX_EXIT_CODE;

const PART = /^(\d{1,9})(?:\s*-\s*(\d{1,9}))?$/;

/** A problem in the text of one class, and its fix. */
interface CodesProblem {
  readonly of: keyof ExitCodePolicy;
  readonly problem: string;
  readonly fix: string;
}

type ReadClasses =
  | { readonly ok: true; readonly policy: ExitCodePolicy }
  | { readonly ok: false; readonly problems: readonly CodesProblem[] };

/** The classes in the annotations of a JobSet. Without an annotation the class is empty. */
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

/** Reads the classes from any source. `names` are the field names of the two classes there. */
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
      problem: `${formatCodes(shared)} is also in ${failName}, and a code belongs to only one class`,
      fix: "remove it from one of them",
    };
  }
  const count = fail.length + recreate.length;
  if (count <= MAX_CODES) return undefined;
  return {
    of: recreate.length > 0 ? "recreate" : "fail",
    problem: `the classes have ${count} codes, and Kubernetes allows ${MAX_CODES} besides 0 in one rule`,
    fix: "leave at least one code for restarts in place",
  };
}

function codesOf(of: keyof ExitCodePolicy, text: unknown, problems: CodesProblem[]): readonly number[] {
  if (text === undefined || text === null) return [];
  if (typeof text !== "string" || text.length > MAX_TEXT) {
    const problem = `must be text of at most ${MAX_TEXT} characters`;
    problems.push({ of, problem, fix: 'use a value such as "40-50,137"' });
    return [];
  }
  if (text.trim() === "") {
    problems.push({ of, problem: "is empty", fix: 'list codes and ranges such as "40-50,137", or remove it' });
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
  return { problem: `${quoted(text)} has nothing on one side of a comma`, fix: "remove the comma" };
}

/** Adds the codes of one part. Returns its problem, if there is one. */
function takePart(part: string, taken: Map<number, string>): Pick<CodesProblem, "problem" | "fix"> | undefined {
  const shown = quoted(part);
  const [, from, to] = PART.exec(part) ?? [];
  if (from === undefined) {
    return { problem: `${shown} is not an exit code or a range`, fix: 'use a value such as "137" or "40-50"' };
  }
  const first = Number(from);
  const last = Number(to ?? from);
  if (first === 0 || last === 0) {
    return { problem: `${shown} contains 0, which is success and not a failure`, fix: "remove it" };
  }
  if (last > MAX_EXIT_CODE || first > MAX_EXIT_CODE) {
    return { problem: `${shown} goes beyond ${MAX_EXIT_CODE}, the largest exit code`, fix: "use codes from 1 to 255" };
  }
  if (last < first) return { problem: `${shown} is a reversed range`, fix: `use "${last}-${first}"` };
  for (let code = first; code <= last; code++) {
    const earlier = taken.get(code);
    if (earlier !== undefined) {
      const problem = `${shown} repeats ${code}, which ${JSON.stringify(earlier)} already contains`;
      return { problem, fix: "remove one of them" };
    }
    taken.set(code, part);
  }
  return undefined;
}

/** Codes as users write them, with ranges. */
export function formatCodes(codes: readonly number[]): string {
  const runs: { first: number; last: number }[] = [];
  for (const code of codes) {
    const run = runs.at(-1);
    if (run !== undefined && code === run.last + 1) run.last = code;
    else runs.push({ first: code, last: code });
  }
  return runs.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

function finding(key: string, message: string): Finding {
  return { rule: "exit-codes", path: annotationPath(key), message };
}
