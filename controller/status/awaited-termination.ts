// The Pod that a group waits for because it does not terminate (KEP-3939: the Job creates the replacement only
// afterwards). Reported at once on an unreachable node, otherwise when the grace period is over and the kubelet had
// time to report. Pure.
import type { Pod } from "../../src/api/pod.ts";
import { endOfGrace, OVERDUE_MS } from "../group/grace.ts";
import type { Group } from "../group/group.ts";
import { judgeStuckPod } from "../stuck-pods/decide.ts";
import { explainVerdict, wholeSeconds } from "../stuck-pods/explain.ts";

interface AwaitedTermination {
  readonly reason: "NodeUnreachable" | "GracePeriodOver";
  readonly message: string;
}

/** The Pod that is overdue longest. The text stays the same while nothing happens, so that it causes no writes. */
export function awaitedTermination(group: Group, now: number): AwaitedTermination | undefined {
  const awaited = terminating(group).filter((pod) => isOnUnreachableNode(group, pod) || overdueAt(pod) <= now);
  const [first] = awaited.sort((a, b) => endOfGrace(a) - endOfGrace(b) || (a.name < b.name ? -1 : 1));
  if (first === undefined) return undefined;
  const { surroundings } = group;
  const unreachable = surroundings.unreachable.get(first.node ?? "");
  const since = unreachable?.since === undefined ? "" : ` since ${unreachable.since}`;
  const where = `on node ${first.node ?? "none"}${unreachable === undefined ? "" : `, which is unreachable${since}`}`;
  const more = awaited.length === 1 ? "" : `; ${awaited.length - 1} more like it`;
  const wait = `waiting for Pod ${first.name} to terminate: Terminating since ${terminatingSince(first)} ${where}`;
  const outlook = explainVerdict(judgeStuckPod(first, surroundings, now), first);
  return {
    reason: unreachable === undefined ? "GracePeriodOver" : "NodeUnreachable",
    message: `${wait}; ${outlook}${more}`,
  };
}

/** When the next Pod becomes overdue, in milliseconds since 1970. */
export function overdueNext(group: Group, now: number): number | undefined {
  const times = terminating(group)
    .map(overdueAt)
    .filter((time) => time > now);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** When the deletion was requested. */
export function terminatingSince(pod: Pod): string {
  return wholeSeconds(endOfGrace(pod) - (pod.deletion?.graceSeconds ?? 0) * 1_000);
}

function terminating(group: Group): Pod[] {
  return [...group.ending].flatMap((uid) => {
    const pod = group.members.get(uid)?.pod;
    return pod?.deletion === undefined || Number.isNaN(endOfGrace(pod)) ? [] : pod;
  });
}

function isOnUnreachableNode(group: Group, { node }: Pod): boolean {
  return group.surroundings.unreachable.has(node ?? "");
}

function overdueAt(pod: Pod): number {
  return endOfGrace(pod) + OVERDUE_MS;
}
