// What is said about the replicatedJobs that cannot restart in place: as errors with `injection.onUnsupported: refuse`,
// otherwise as warnings and in the record. Pure.
import type { Finding } from "../api/admission.ts";
import { type LeftOut, MAX_LEFT_OUT } from "../api/left-out.ts";
import { ANNOTATION } from "../api/names.ts";
import type { Outsider } from "./participation.ts";

export function refusals(outsiders: readonly Outsider[]): Finding[] {
  return outsiders.map(({ problem: { rule, path, problem, fix } }) => {
    const message = `${problem}; ${fix}, or exclude this replicatedJob with ${ANNOTATION.replicatedJobs}`;
    return { rule, path, message };
  });
}

/** One warning for each reason, even if ten thousand replicatedJobs have it. `what` does not restart in place. */
export function leftOutWarnings(outsiders: readonly Outsider[], what: "replicatedJob" | "JobSet"): Finding[] {
  return [...Map.groupBy(outsiders, ({ problem }) => problem.rule).values()].flatMap((alike) => {
    const [first] = alike;
    if (first === undefined) return [];
    const { rule, path, problem, fix } = first.problem;
    const more = alike.length === 1 ? "" : ` (and ${alike.length - 1} more like it)`;
    return [{ rule, path, message: `this ${what} does not restart in place: ${problem}; ${fix}${more}` }];
  });
}

/** For the record. */
export function recordedLeftOut(outsiders: readonly Outsider[]): readonly LeftOut[] {
  return outsiders.slice(0, MAX_LEFT_OUT).map(({ name, problem }) => ({ name, reason: problem.rule }));
}
