// What to do about a failure once it is known who is to blame: the step of the ladder, and the Pods or the Job that it
// removes. Pure.
import { type InPlaceRestartStatus, type Streak, TARGET_LIMIT } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import type { Group } from "../group/group.ts";
import type { Suspect } from "../group/suspects.ts";
import { describeLeftovers } from "../status/shared-memory.ts";
import { describeGroupStreak, describeSlotStreak } from "./describe-streak.ts";
import { findFullPods } from "./full-shared-memory.ts";
import { escalateAfter, permittedRung, type Rung, rungFor, rungForGroup } from "./ladder.ts";
import { budgetOf, isSpent } from "./used-budget.ts";

interface Plan {
  readonly action: Rung;
  /** UID of the Pod or the Job that the action removes. */
  readonly target?: string;
  /** UIDs of the Pods if there are several. */
  readonly targets?: readonly string[];
  /** Why the action is stronger than a restart in place, as the end of a note. */
  readonly why: string;
}

interface Situation {
  readonly group: Group;
  readonly jobSet: JobSet;
  readonly status: InPlaceRestartStatus;
  readonly policy: RestartPolicy;
}

/** Without a culprit, the plan is for all suspects together. */
export function planRecovery(
  { group, jobSet, status, policy }: Situation,
  culprit: Suspect | undefined,
  suspects: readonly Suspect[],
  streak: Streak | undefined,
  counted: boolean,
): Plan {
  const blamed = culprit === undefined ? suspects : [culprit];
  const [first] = blamed;
  const isOver = counted && isSpent(budgetOf(jobSet, status.restarts));
  if (first === undefined || isOver) return { action: "RestartInPlace", why: "" };
  const isGroup = culprit === undefined;
  const step = isGroup ? rungForGroup(streak, jobSet, policy) : rungFor(first.requestedAction, streak, jobSet, policy);
  const rung = permittedRung(step, jobSet, first.stage, counted);
  const streaks = isGroup ? describeGroupStreak(rung, streak) : describeSlotStreak(rung, streak);
  if (rung === "RecreateJobSet") return { action: rung, target: first.job, why: streaks };
  const full = escalateAfter(jobSet, policy) === 0 ? [] : findFullPods(group, status.history, blamed);
  if (rung === "RestartInPlace" && full.length === 0) return { action: rung, why: "" };
  const uids = (rung === "RecreatePod" ? blamed : full).map(({ uid }) => uid).slice(0, TARGET_LIMIT);
  const most = Math.max(...full.map(({ mebibytes }) => mebibytes));
  return {
    action: "RecreatePod",
    ...(uids.length === 1 ? { target: uids[0] ?? first.uid } : { targets: uids }),
    why: full.length === 0 ? streaks : `${streaks}; ${describeLeftovers(most)}`,
  };
}
