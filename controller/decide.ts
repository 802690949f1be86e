// Decides what happens next to a group: a pure function of the group's state and the time. It never looks at the event
// that led to the state, so it is safe to run at any time, twice, on two controllers, or after a crash between two
// writes. It returns at most one decision; when the decision is carried out and observed, decide again.
//
// The protocol. An agent takes epoch syncedEpoch + 1 and waits. When every slot has a Pod at that epoch, syncedEpoch
// moves to it and the workers start. deprecatedEpoch is either syncedEpoch (the group is at the barrier) or the epoch
// before it (the synced epoch runs). Only the rule end-epoch goes from running to the barrier, in a single write: that
// write is the group restart, so a restart cannot be counted twice. Pods of a held stage wait inside the running epoch
// until their stage is released. An agent that arrives late takes the running epoch and disturbs no other Pod; one that
// took the next epoch restarts the whole group.
import { type InPlaceRestart, type InPlaceRestartStatus, readReady } from "../src/api/in-place-restart.ts";
import type { JobSet } from "../src/api/jobset.ts";
import { protocolOf } from "../src/api/protocol.ts";
import type { RestartPolicy } from "../src/api/restart-policy.ts";
import { isEqual } from "../src/json/equal.ts";
import { finalFailureAwaitedUntil } from "./escalation/awaited-failure.ts";
import { backoffEndsAt } from "./escalation/backoff.ts";
import { proofAt } from "./group/evidence.ts";
import type { Group } from "./group/group.ts";
import { successAwaitedUntil } from "./group/success.ts";
import { RULES } from "./rules/chain.ts";
import { hangAt } from "./rules/judge-hang.ts";
import { stallAt } from "./rules/report-stall.ts";
import type { Context, Removal, Step } from "./rules/rule.ts";
import { overdueNext } from "./status/awaited-termination.ts";
import { reportForeignEpochs } from "./status/foreign-epochs.ts";
import type { Notice } from "./status/notice.ts";
import type { PodReport } from "./status/pod-report.ts";
import { reportLeftovers } from "./status/shared-memory.ts";
import { summarize } from "./status/summary.ts";

type Status = InPlaceRestartStatus;

export type Decision =
  /** Create the InPlaceRestart, without a status. */
  | { readonly kind: "create"; readonly jobSetUid: string }
  /** Delete exactly this object: it belongs to an earlier JobSet of the same name. */
  | { readonly kind: "delete"; readonly object: InPlaceRestart }
  /** Write this status over exactly the version it was derived from, then record the notices as Events. */
  | { readonly kind: "write"; readonly status: Status; readonly notices: readonly Notice[] }
  /** Fail the JobSet, then write the status if there is one. */
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
  /** Name of the rule behind the decision. Absent when there is no decision, or when only the summary changed. */
  readonly rule?: string;
  readonly reports: readonly PodReport[];
  /** Decide again at this time even if nothing happens. Milliseconds since 1970. */
  readonly wakeAt?: number;
}

/** What only people see is written at most this often for each group, however much changes in it. */
const SUMMARY_REFRESH_MS = 10_000;

const NOTHING: Verdict = { reports: [] };

/** What the chain of rules sees of an object without a status. */
const EMPTY_STATUS: Status = {
  deprecatedEpoch: 0,
  syncedEpoch: 0,
  heldStages: [],
  restarts: 0,
  phase: "Starting",
  ready: "",
  history: [],
  conditions: [],
};

/** `now` in milliseconds since 1970. */
export function decide(group: Group, now: number, policy: RestartPolicy): Verdict {
  const { jobSet, object } = group;
  if (jobSet === undefined || jobSet.deletionTimestamp !== undefined || protocolOf(jobSet) === "jobset") return NOTHING;
  const isForeign = object !== undefined && object.jobSetUID !== jobSet.uid;
  if (jobSet.outcome !== "none" && (object?.status === undefined || isForeign)) return NOTHING;
  if (object === undefined) return { ...NOTHING, decision: { kind: "create", jobSetUid: jobSet.uid } };
  if (isForeign) return { ...NOTHING, decision: { kind: "delete", object } };
  const status = object.status ?? EMPTY_STATUS;
  const { rule, step } = applyRules({
    group,
    jobSet,
    status,
    isInitialized: object.status !== undefined,
    now,
    policy,
  });
  const verdict = verdictOf(group, jobSet, object.status, step, now);
  return verdict.decision === undefined || rule === undefined ? verdict : { ...verdict, rule };
}

/** The step of the first rule that applies. If none does, only the summary may change. */
function applyRules(context: Omit<Context, "rule">): { readonly rule?: string; readonly step: Step } {
  for (const { name, apply } of RULES) {
    const step = apply({ ...context, rule: name });
    if (step !== undefined) return { rule: name, step };
  }
  return { step: { status: context.status, notices: [] } };
}

function verdictOf(group: Group, jobSet: JobSet, before: Status | undefined, step: Step, now: number): Verdict {
  const reports = [...reportForeignEpochs(group, step.status), ...reportLeftovers(group)];
  const after = summarize(group, jobSet, step.status, now);
  const { notices, failure, removal } = step;
  const isSummary = before !== undefined && isEqual(before, step.status);
  const refreshAt = isSummary ? summaryRefreshAt(group, before, after) : undefined;
  const isSame = before !== undefined && isEqual(withoutAccount(before), withoutAccount(after));
  const unchanged = isSame || (refreshAt !== undefined && refreshAt > now);
  const wakeAt = earliest(
    now,
    stallAt(jobSet, after),
    hangAt({ group, jobSet, status: after }),
    overdueNext(group, now),
    proofAt(group, after, now),
    successAwaitedUntil(group, after, now),
    finalFailureAwaitedUntil(group, after, now),
    backoffEndsAt(after),
    isSame ? undefined : refreshAt,
  );
  const common = { reports, ...(wakeAt === undefined ? {} : { wakeAt }) };
  if (removal !== undefined) return { ...common, decision: removal };
  if (failure !== undefined) {
    const status = unchanged ? {} : { status: after };
    return { ...common, decision: { kind: "fail", ...failure, ...status, notices } };
  }
  return unchanged ? common : { ...common, decision: { kind: "write", status: after, notices } };
}

/**
 * When to write a change that no rule has decided. A new ready count waits longer, unless the group becomes complete or
 * stops being complete: the next decision is likely to show it too.
 */
function summaryRefreshAt({ objectChangedAt, summaryChangedAt }: Group, before: Status, after: Status): number {
  const waits = isReadyOnly(before, after) && isComplete(before) === isComplete(after);
  return (waits ? objectChangedAt : summaryChangedAt) + SUMMARY_REFRESH_MS;
}

function isComplete({ ready }: Status): boolean {
  const count = readReady(ready);
  return count !== undefined && count.ready === count.expected;
}

/** The account of its time never causes a write: what it says of the present follows from the rest. */
function withoutAccount({ availability: _, ...status }: Status): Omit<Status, "availability"> {
  return status;
}

function isReadyOnly(before: Status, after: Status): boolean {
  return (
    before.ready !== after.ready &&
    isEqual({ ...withoutAccount(before), ready: "" }, { ...withoutAccount(after), ready: "" })
  );
}

/** The next of these times. A time that has passed without a decision needs no other look. */
function earliest(now: number, ...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined).filter((time) => time > now);
  return known.length === 0 ? undefined : Math.min(...known);
}
