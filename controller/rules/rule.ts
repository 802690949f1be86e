// One step of the protocol: the status it leads to, what it tells people, and whether it fails the JobSet. Pure.
import type { InPlaceRestartStatus, RestartAction } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { budgetOf } from "../escalation/budget.ts";
import type { EventReason } from "../status/event-reasons.ts";
import { CONDITION, withCondition } from "../status/summary.ts";

export type Status = InPlaceRestartStatus;

/** Something to tell the users of the JobSet, as an Event. */
export interface Notice {
  readonly type: "Normal" | "Warning";
  readonly reason: EventReason;
  readonly action: string;
  readonly note: string;
}

/** Why a JobSet has to fail, as its condition and its Event say it. */
export interface Failure {
  readonly reason: EventReason;
  readonly message: string;
}

/** Something of the group that has to go, by name and UID. */
export type Removal =
  | { readonly kind: "delete-pod"; readonly pod: Named }
  /** Its JobSet then does what its own failure policy says. */
  | { readonly kind: "fail-job"; readonly job: Named };

interface Named {
  readonly name: string;
  readonly uid: string;
}

export interface Step {
  /** Phase, ready count and most conditions are still those from before. */
  readonly status: Status;
  readonly notices: readonly Notice[];
  readonly failure?: Failure;
  readonly removal?: Removal;
}

/** The budget is spent: no restart any more. */
export function spend(jobSet: JobSet, status: Status, cause: string, now: number): Step {
  const failure = spentBudget(jobSet, status);
  const spent = { type: CONDITION.budgetSpent, status: true, ...failure };
  return {
    status: { ...status, conditions: withCondition(status.conditions, spent, now) },
    notices: [{ type: "Warning", reason: failure.reason, action: "Fail", note: `${cause}; ${failure.message}` }],
    failure,
  };
}

export function spentBudget(jobSet: JobSet, status: Status): Failure {
  const { max, used } = budgetOf(jobSet, status.restarts);
  return { reason: "ReachedMaxRestarts", message: `the group has restarted ${used} times, and ${max} are allowed` };
}

/** The Event of each rung has its own reason, so that an alert can tell them apart. */
const RUNG_REASONS = {
  RestartInPlace: "RestartingInPlace",
  RecreatePod: "RecreatingPod",
  RecreateJobSet: "RecreatingJobSet",
} as const satisfies Readonly<Partial<Record<RestartAction, EventReason>>>;

export function restartNotice(action: keyof typeof RUNG_REASONS, note: string): Notice {
  return { type: "Warning", reason: RUNG_REASONS[action], action: "Restart", note };
}
