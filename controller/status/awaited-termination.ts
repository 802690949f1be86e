// The Pod that a group waits for because it does not terminate (KEP-3939: the Job creates the replacement only
// afterwards). Reported at once on an unreachable node, otherwise when the grace period is over and the kubelet had
// time to report. Pure.
import { wholeSeconds } from "../../src/api/metadata.ts";
import type { Pod } from "../../src/api/pod.ts";
import { endOfGrace, OVERDUE_MS } from "../group/grace.ts";
import type { Group, Member } from "../group/group.ts";
import { judgeStuckPod } from "../stuck-pods/decide.ts";
import { explainVerdict } from "../stuck-pods/explain.ts";

interface AwaitedTermination {
  readonly reason: "NodeUnreachable" | "GracePeriodOver";
  readonly message: string;
}

/** The Pod that is overdue longest. The text stays the same while nothing happens, so that it causes no writes. */
export function awaitedTermination(group: Group, now: number): AwaitedTermination | undefined {
  const awaited = awaitedPods(group, now);
  const first = [...awaited].reduce<Awaited | undefined>(earlier, undefined)?.pod;
  if (first === undefined) return undefined;
  const { surroundings } = group;
  const unreachable = surroundings.unreachable.get(first.node ?? "");
  const since = unreachable?.since === undefined ? "" : ` since ${unreachable.since}`;
  const where = `on node ${first.node ?? "none"}${unreachable === undefined ? "" : `, which is unreachable${since}`}`;
  // Without their number, which changes with every Pod.
  const more = awaited.size === 1 ? "" : "; so do other Pods";
  const wait = `waiting for Pod ${first.name} to terminate: Terminating since ${terminatingSince(first)} ${where}`;
  const outlook = explainVerdict(judgeStuckPod(first, surroundings, now), first);
  return {
    reason: unreachable === undefined ? "GracePeriodOver" : "NodeUnreachable",
    message: `${wait}; ${outlook}${more}`,
  };
}

/** When the next Pod becomes overdue, in milliseconds since 1970. */
export function overdueNext(group: Group, now: number): number | undefined {
  let next = Number.POSITIVE_INFINITY;
  for (const end of group.terminating.keys()) if (end + OVERDUE_MS > now) next = Math.min(next, end + OVERDUE_MS);
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

/** When the deletion was requested. */
export function terminatingSince(pod: Pod): string {
  return wholeSeconds((endOfGrace(pod) ?? Number.NaN) - (pod.deletion?.graceSeconds ?? 0) * 1_000);
}

type Awaited = Member & { readonly graceEnd: number };

/** The Pods that are overdue, and those on unreachable nodes. */
function awaitedPods({ terminating, podsByNode, members, surroundings }: Group, now: number): ReadonlySet<Awaited> {
  const overdue = [...terminating].flatMap(([end, pods]) => (end + OVERDUE_MS <= now ? [...pods] : []));
  const lost = [...surroundings.unreachable.keys()].flatMap((node) => [...(podsByNode.get(node) ?? [])]);
  return new Set([...overdue, ...lost].map((uid) => members.get(uid)).filter(isTerminating));
}

function isTerminating(member: Member | undefined): member is Awaited {
  return member?.graceEnd !== undefined;
}

function earlier(first: Awaited | undefined, next: Awaited): Awaited {
  if (first === undefined || next.graceEnd < first.graceEnd) return next;
  return next.graceEnd === first.graceEnd && next.pod.name < first.pod.name ? next : first;
}
