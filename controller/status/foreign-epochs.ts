// Epochs on Pods that no agent wrote. They are reported on the Pod, once, and never stop the group. Pure.
import { epochOf, epochRuns, podsBeyond } from "../group/epochs.ts";
import type { Group, Member } from "../group/group.ts";
import { strayed } from "../rules/replace-pod.ts";
import type { Notice, Status } from "../rules/rule.ts";

/** Something to tell about one Pod. Once told, noteReported(group, pod.uid, text) keeps it from being told again. */
export interface PodReport extends Notice {
  readonly pod: { readonly name: string; readonly uid: string };
  readonly text: string;
}

/** Epochs that no agent wrote: unreadable ones, and those further ahead than an agent can be. */
export function podReports(group: Group, status: Status): readonly PodReport[] {
  const reports: PodReport[] = [];
  const report = ({ pod }: Member, text: string, note: string) => {
    if (group.reported.get(pod.uid) === text) return;
    const { name, uid } = pod;
    reports.push({ pod: { name, uid }, text, type: "Warning", reason: "EpochIgnored", action: "Ignore", note });
  };
  const replaced = new Set(strayed(group, status));
  const fate = (member: Member, otherwise: string) => (replaced.has(member) ? "the Pod is replaced" : otherwise);
  for (const uid of group.malformed) {
    const member = group.members.get(uid);
    if (member?.pod.epoch.kind !== "malformed" || member.standing === "outside") continue;
    const { text } = member.pod.epoch;
    const outcome = fate(member, "the Pod counts as having none");
    const note = `epoch ${JSON.stringify(text.slice(0, 40))} is not a number written by an agent; ${outcome}`;
    report(member, `${text}, ${outcome}`, note);
  }
  for (const member of new Set([
    ...replaced,
    ...(epochRuns(status) ? podsBeyond(group, status.syncedEpoch + 1) : []),
  ])) {
    const epoch = epochOf(member);
    if (epoch === undefined) continue;
    const outcome = fate(member, "it is ignored");
    const note = `epoch ${epoch} is ahead of the group, which is at ${status.syncedEpoch}; no agent can have taken it, and ${outcome}`;
    report(member, `${epoch}, ${outcome}`, note);
  }
  return reports;
}
