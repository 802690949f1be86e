// What happens next to a group: a pure function of what is known of it and of the time. It looks at the state and never at
// the event that led there, so it may be asked at any time, twice, by two controllers, or after one was killed between any
// two writes. At most one decision at a time; once it is carried out and observed, ask again.
//
// The protocol in one paragraph. Agents take epoch syncedEpoch + 1 and wait. When every slot is there, syncedEpoch moves to
// it and their workers start. deprecatedEpoch is always syncedEpoch (the group is between two epochs) or the one before
// (the synced epoch runs). The one step from running to between, made by `deprecate` in a single write, is a group restart:
// that is why it cannot be counted twice. Pods of a held stage wait in the running epoch until their stage is let go: one
// that starts late disturbs nobody when its agents take the running epoch; one that took the next epoch takes all with it.
import type { InPlaceRestart } from "../src/api/in-place-restart.ts";
import type { JobSet } from "../src/api/jobset.ts";
import { protocolOf } from "../src/api/protocol.ts";
import type { RestartPolicy } from "../src/api/restart-policy.ts";
import { holdEndsAt } from "./escalation/backoff.ts";
import { proofAt } from "./group/evidence.ts";
import type { Group } from "./group/group.ts";
import { closeWhenSuspended } from "./rules/close-when-suspended.ts";
import { deprecate, excuse } from "./rules/end-epoch.ts";
import { failAtOnce } from "./rules/fail-on-exit-code.ts";
import { finishRestart, release, sync } from "./rules/lift-barrier.ts";
import { believeLostEpochs, initialise } from "./rules/lost-state.ts";
import { recreateAfterPartialSuccess } from "./rules/recreate-after-partial-success.ts";
import { recreateJobSet } from "./rules/recreate-jobset.ts";
import { replacePod } from "./rules/replace-pod.ts";
import { reportStall, stallAt } from "./rules/report-stall.ts";
import { type Notice, type Removal, type Status, type Step, spentBudget } from "./rules/rule.ts";
import { overdueNext } from "./status/awaited-termination.ts";
import { type PodReport, podReports } from "./status/foreign-epochs.ts";
import { withoutDeletion } from "./status/history.ts";
import { CONDITION, present } from "./status/summary.ts";

export type { Notice } from "./rules/rule.ts";
export type { PodReport } from "./status/foreign-epochs.ts";

export type Decision =
  /** Make the InPlaceRestart, without a status. */
  | { readonly kind: "create"; readonly jobSetUid: string }
  /** Delete exactly this object: it belongs to an earlier JobSet of the same name. */
  | { readonly kind: "delete"; readonly object: InPlaceRestart }
  /** Write this status over exactly the version it was derived from, then tell. */
  | { readonly kind: "write"; readonly status: Status; readonly notices: readonly Notice[] }
  /** Fail the JobSet and then, where there is one, write the status. */
  | {
      readonly kind: "fail";
      readonly reason: string;
      readonly message: string;
      readonly status?: Status;
      readonly notices: readonly Notice[];
    }
  | Removal;

export interface Verdict {
  readonly decision?: Decision;
  readonly reports: readonly PodReport[];
  /** Ask again at this time even if nothing happens. Milliseconds since 1970. */
  readonly wakeAt?: number;
}

/** The ready count is for people: it does not wake every agent more often than this. */
const READY_REFRESH_MS = 10_000;

const NOTHING: Verdict = { reports: [] };

/** `now` in milliseconds since 1970. */
export function decide(group: Group, now: number, policy: RestartPolicy): Verdict {
  const { jobSet, object } = group;
  if (jobSet === undefined || jobSet.deletionTimestamp !== undefined || protocolOf(jobSet) === "jobset") return NOTHING;
  const foreign = object !== undefined && object.jobSetUID !== jobSet.uid;
  if (jobSet.outcome !== "none" && (object?.status === undefined || foreign)) return NOTHING;
  if (object === undefined) return { ...NOTHING, decision: { kind: "create", jobSetUid: jobSet.uid } };
  if (foreign) return { ...NOTHING, decision: { kind: "delete", object } };
  const step =
    object.status === undefined ? initialise(group, now) : advance(group, jobSet, object.status, now, policy);
  return verdictOf(group, jobSet, object.status, step, now);
}

function advance(group: Group, jobSet: JobSet, status: Status, now: number, policy: RestartPolicy): Step {
  const idle: Step = { status, notices: [] };
  if (jobSet.outcome !== "none") return { ...idle, status: withoutDeletion(status) };
  if (status.conditions.some(({ type }) => type === CONDITION.budgetSpent))
    return { ...idle, failure: spentBudget(jobSet, status) };
  return (
    closeWhenSuspended(group, status) ??
    believeLostEpochs(group, status, now) ??
    failAtOnce(group, jobSet, status, now) ??
    deprecate(group, jobSet, status, now, policy) ??
    excuse(group, status) ??
    recreateAfterPartialSuccess(group, jobSet, status, now) ??
    replacePod(group, status, now) ??
    recreateJobSet(group, status) ??
    sync(group, jobSet, status, now) ??
    release(group, status) ??
    finishRestart(group, status, now) ??
    reportStall(group, jobSet, status, now) ??
    idle
  );
}

function verdictOf(group: Group, jobSet: JobSet, before: Status | undefined, step: Step, now: number): Verdict {
  const reports = podReports(group, step.status);
  const shown = present(group, jobSet, step.status, now);
  const { notices, failure, removal } = step;
  const wait = before !== undefined && isReadyOnly(before, shown) ? readyRefreshAt(group, before, shown) : undefined;
  const unchanged = before !== undefined && (isEqual(before, shown) || (wait !== undefined && wait > now));
  const wakeAt = earliest(
    now,
    stallAt(jobSet, shown),
    overdueNext(group, now),
    proofAt(group, shown),
    holdEndsAt(shown),
    unchanged ? wait : undefined,
  );
  const common = { reports, ...(wakeAt === undefined ? {} : { wakeAt }) };
  if (removal !== undefined) return { ...common, decision: removal };
  if (failure !== undefined) {
    const status = unchanged ? {} : { status: shown };
    return { ...common, decision: { kind: "fail", ...failure, ...status, notices } };
  }
  return unchanged ? common : { ...common, decision: { kind: "write", status: shown, notices } };
}

/** When a change of the ready count alone is worth a write; at once when the group becomes, or stops being, complete. */
function readyRefreshAt(group: Group, before: Status, after: Status): number {
  return isFull(before.ready) === isFull(after.ready) ? group.objectChangedAt + READY_REFRESH_MS : 0;
}

function isFull(ready: string): boolean {
  const [count, expected] = ready.split("/");
  return count === expected;
}

function isReadyOnly(before: Status, after: Status): boolean {
  return before.ready !== after.ready && isEqual({ ...before, ready: "" }, { ...after, ready: "" });
}

/** Of plain JSON, whatever the order of its fields: one of the two was read from the API server. */
function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const [left, right] = [Object.entries(a), Object.entries(b)];
  const other = new Map(right);
  return left.length === right.length && left.every(([key, value]) => other.has(key) && isEqual(value, other.get(key)));
}

/** Of those to come: a time that has passed without a decision asks for nothing more. */
function earliest(now: number, ...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined).filter((time) => time > now);
  return known.length === 0 ? undefined : Math.min(...known);
}
