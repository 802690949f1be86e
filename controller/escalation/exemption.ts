// Failures that the user's own rules do not count. Pure.
import type { JobSet } from "../../src/api/jobset.ts";
import type { Group } from "../group/group.ts";
import { crashed, isExempt, ruleFor } from "./failure-rules.ts";

interface Exemption {
  /** For people: which rule does not count the failure. */
  readonly why: string;
  /** Whether it is not even a failure: it neither lengthens a streak nor delays the restart. */
  readonly ignored: boolean;
}

/** `pod`: UID of the Pod that ended the epoch. */
export function exemptionOf(group: Group, jobSet: JobSet, pod: string | undefined): Exemption | undefined {
  const loss = group.losses.get(pod ?? "") ?? group.firstLosses.get(pod ?? "");
  if (loss?.ignored === true) return { why: "podFailurePolicy ignores the exit code", ignored: true };
  const stage = loss?.stage ?? group.members.get(pod ?? "")?.pod.replicatedJob;
  const rule = stage === undefined ? undefined : ruleFor(jobSet, crashed(stage));
  if (rule === undefined || !isExempt(rule)) return undefined;
  return { why: `failurePolicy rule ${rule.name} is ${rule.action}`, ignored: false };
}
