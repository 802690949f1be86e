// A restart that turns out to be caused by a disruption, or by JobSet recreating a Job. Pure.
import type { RestartCause, RestartRecord } from "../../src/api/in-place-restart.ts";
import { uncountRuleFailures } from "../escalation/rule-failures.ts";
import { isInStreak, streakBefore } from "../escalation/streak.ts";
import { isReplacement } from "../group/blame.ts";
import { epochOf, livePods } from "../group/epochs.ts";
import type { Group } from "../group/group.ts";
import { slotName } from "../group/slots.ts";
import { openRecord } from "../status/history.ts";
import type { Context, Status, Step } from "./rule.ts";

/**
 * Such a restart does not count towards the budget, even if another Pod failed first. It does not lengthen the streak
 * either, and there is no back-off for it.
 */
export function uncountDisruption({ group, status, policy }: Context): Step | undefined {
  const record = openRecord(status);
  if (record === undefined || !isFailure(record, status, policy.progressAfter)) return undefined;
  if (!isDisrupted(group, record) && !isNodeLost(group, record) && !wasPodReplaced(group, record, status))
    return undefined;
  const { streak: _, backoffUntil: __, ...rest } = record;
  const before = streakBefore(status, policy.progressAfter);
  const uncounted = { ...rest, counted: false, ...(before === undefined ? {} : { streak: before }) };
  const { history } = status;
  const recounted = uncountRuleFailures(status, record.fromEpoch);
  return { status: { ...recounted, history: [...history.slice(0, -1), uncounted] }, notices: [] };
}

/** Also one that a rule of the user does not count. A recreation ends every Pod itself. */
function isFailure({ counted, action }: RestartRecord, status: Status, progressAfter: number): boolean {
  return counted || (action !== "RecreateJobSet" && isInStreak(status, progressAfter));
}

function isDisrupted({ lossTallies }: Group, { fromEpoch }: RestartRecord): boolean {
  return [...lossTallies.values()].some(({ epoch, counted }) => epoch === fromEpoch && !counted);
}

/**
 * A Pod that has not come back is on a node that is lost. It may be back, with the Pod, before the Pod is evicted. A
 * Pod whose failure was reported is not lost, and if every node seems to be, it is the control plane that was cut off.
 */
function isNodeLost({ members, losses, podsByNode, surroundings }: Group, { fromEpoch }: RestartRecord): boolean {
  if (surroundings.unreachable.size === 0 || surroundings.braked) return false;
  return [...surroundings.unreachable.keys()].some((node) =>
    [...(podsByNode.get(node) ?? [])].some((uid) => !losses.has(uid) && epochOf(members.get(uid)) === fromEpoch),
  );
}

const KEEPS_POD: ReadonlySet<RestartCause["reason"]> = new Set(["PodRestarted", "ContainerExited"]);

/**
 * A Pod was replaced, and this controller has not watched long enough to know why. A worker that fails keeps its Pod,
 * so most likely that Pod was disrupted, and the others failed because of it.
 */
function wasPodReplaced(group: Group, { cause, action, fromEpoch }: RestartRecord, { heldStages }: Status): boolean {
  const hasSeenEpoch = group.baseline > 0;
  if (hasSeenEpoch || !KEEPS_POD.has(cause.reason) || action !== "RestartInPlace") return false;
  return livePods(group, (epoch) => epoch === fromEpoch + 1).some((member) => {
    const { pod } = member;
    if (!isReplacement(member)) return false;
    // The first Pods of a stage that had not started replace none.
    if (heldStages.includes(pod.replicatedJob)) return false;
    return !group.lossesBySlot.has(slotName(pod.controller?.name, pod.completionIndex));
  });
}
