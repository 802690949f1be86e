// Which Pods a group waits for at its barrier right now, and why, in the words of the controller. The controller itself
// says so only after the wait has lasted for a minute. Pure.
import { type Group, newGroup } from "../../../controller/group/group.ts";
import { observeJob, observeJobSet, observeObject, observePod } from "../../../controller/group/observe.ts";
import { dueStages, unfilledStages } from "../../../controller/group/startup-order.ts";
import { describeAwaited, describeMissing } from "../../../controller/status/awaited-pods.ts";
import type { GroupReading } from "./group-reading.ts";

/** Undefined if the group waits for no Pod, or if its Pods and Jobs were not read. */
export function missingPods({ object, jobSet, pods, jobs }: GroupReading): string | undefined {
  const { status } = object;
  if (status === undefined || jobSet === undefined || pods === undefined || jobs === undefined) return undefined;
  if (jobSet.suspended || jobSet.outcome !== "none") return undefined;
  const group = newGroup();
  observeAll(group, { object, jobSet, pods, jobs });
  const isAtBarrier = status.deprecatedEpoch === status.syncedEpoch;
  const text = isAtBarrier
    ? describeAwaited(group, dueStages(group), status.syncedEpoch + 1)
    : describeMissing(group, unfilledStages(group, status), status.syncedEpoch);
  return text.startsWith("0 missing") ? undefined : text;
}

/** The times of observation matter for blame only, which nothing here asks for. */
function observeAll(
  group: Group,
  { object, jobSet, pods, jobs }: Required<Omit<GroupReading, "nodes" | "progress">>,
): void {
  observeJobSet(group, jobSet, 0);
  for (const job of jobs) observeJob(group, job, 0);
  for (const pod of pods) observePod(group, pod, 0);
  observeObject(group, object, 0);
}
