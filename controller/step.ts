// One step of the protocol: the status it leads to, what it tells people, and whether it fails the JobSet. Pure.
import type { InPlaceRestartStatus } from "../src/api/in-place-restart.ts";
import type { JobSet } from "../src/api/jobset.ts";
import { budgetOf } from "./budget.ts";
import { CONDITION, withCondition } from "./present.ts";

export type Status = InPlaceRestartStatus;

/** Something to tell the users of the JobSet, as an Event. */
export interface Notice {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly action: string;
  readonly note: string;
}

export interface Step {
  /** Phase, ready count and most conditions are still those from before. */
  readonly status: Status;
  readonly notices: readonly Notice[];
  /** Why the JobSet has to fail. */
  readonly failure?: string;
}

/** The budget is spent: no restart any more. */
export function spend(jobSet: JobSet, status: Status, cause: string, now: number): Step {
  const failure = spentMessage(jobSet, status);
  const spent = { type: CONDITION.budgetSpent, status: true, reason: "ReachedMaxRestarts", message: failure };
  return {
    status: { ...status, conditions: withCondition(status.conditions, spent, now) },
    notices: [{ type: "Warning", reason: "ReachedMaxRestarts", action: "Fail", note: `${cause}; ${failure}` }],
    failure,
  };
}

export function spentMessage(jobSet: JobSet, status: Status): string {
  const { max, used } = budgetOf(jobSet, status.restarts);
  return `the group has restarted ${used} times, and ${max} are allowed`;
}

export function restartNotice(note: string): Notice {
  return { type: "Warning", reason: "RestartingInPlace", action: "Restart", note };
}
