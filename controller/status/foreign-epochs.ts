// Foreign epochs: values of the epoch annotation that no agent can have written. They are reported once on the Pod and
// never stop the group; a Pod that blocks the group with one is replaced. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { epochOf, epochRuns, highestPlausible, podsBeyond } from "../group/epochs.ts";
import type { Group, Member } from "../group/group.ts";
import { unfilledStages } from "../group/startup-order.ts";
import { isStalled } from "./conditions.ts";
import { type PodReport, wasReported } from "./pod-report.ts";

/**
 * Pods that have to be replaced because of a foreign epoch. They do no harm while the group runs, but cannot take part
 * in the next restart: no agent may write a lower epoch, and an agent writes only once.
 */
export function podsBlockedByForeignEpoch(group: Group, status: InPlaceRestartStatus): readonly Member[] {
  const blocking = isStalled(status) ? podsThatStall(group, status) : [];
  return epochRuns(status) ? blocking : [...podsBeyond(group, highestPlausible(status)), ...blocking];
}

/**
 * Pods that the barrier, or a stage that may start, waits for. Asked only after a stall: a restart may repair them too.
 */
function podsThatStall(group: Group, status: InPlaceRestartStatus): readonly Member[] {
  const unreadable = [...group.malformed].flatMap((uid) => group.members.get(uid) ?? []);
  if (!epochRuns(status)) return unreadable;
  const awaited = new Set(unfilledStages(group, status).map(({ stage }) => stage.name));
  return [...unreadable, ...podsBeyond(group, status.syncedEpoch + 1)].filter(({ pod }) =>
    awaited.has(pod.replicatedJob),
  );
}

/** One report for each Pod whose epoch is unreadable, or further ahead than an agent can be. */
export function reportForeignEpochs(group: Group, status: InPlaceRestartStatus): readonly PodReport[] {
  const reports: PodReport[] = [];
  const report = ({ pod }: Member, text: string, note: string) => {
    const { name, uid } = pod;
    const notice = { type: "Warning", reason: "EpochIgnored", action: "Ignore", note } as const;
    if (!wasReported(group, uid, notice.reason, text)) reports.push({ pod: { name, uid }, text, ...notice });
  };
  const replaced = new Set(podsBlockedByForeignEpoch(group, status));
  const consequence = (member: Member, otherwise: string) => (replaced.has(member) ? "the Pod is replaced" : otherwise);
  for (const uid of group.malformed) {
    const member = group.members.get(uid);
    if (member?.pod.epoch.kind !== "malformed" || member.state === "outside") continue;
    const { text } = member.pod.epoch;
    const outcome = consequence(member, "the Pod counts as having none");
    const note = `epoch ${JSON.stringify(text.slice(0, 40))} is not a number written by an agent; ${outcome}`;
    report(member, `${text}, ${outcome}`, note);
  }
  const ahead = epochRuns(status) ? podsBeyond(group, status.syncedEpoch + 1) : [];
  for (const member of new Set([...replaced, ...ahead])) {
    const epoch = epochOf(member);
    if (epoch === undefined) continue;
    const outcome = consequence(member, "it is ignored");
    const position = `epoch ${epoch} is ahead of the group, which is at ${status.syncedEpoch}`;
    report(member, `${epoch}, ${outcome}`, `${position}; no agent can have taken it, and ${outcome}`);
  }
  return reports;
}
