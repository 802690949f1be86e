// Epochs on Pods that no agent wrote. They are reported on the Pod, once, and never stop the group. Pure.
import { epochOf, epochRuns, highestEpoch } from "./epochs.ts";
import type { Group, Member } from "./group.ts";
import type { Notice, Status } from "./step.ts";

/** Something to tell about one Pod. Once told, noteReported(group, pod.uid, text) keeps it from being told again. */
export interface PodReport extends Notice {
  readonly pod: { readonly name: string; readonly uid: string };
  readonly text: string;
}

/** Epochs that no agent wrote: unreadable ones, and in a running group those further ahead than an agent can be. */
export function podReports(group: Group, status: Status): readonly PodReport[] {
  const reports: PodReport[] = [];
  const report = ({ pod }: Member, text: string, note: string) => {
    if (group.reported.get(pod.uid) === text) return;
    const { name, uid } = pod;
    reports.push({ pod: { name, uid }, text, type: "Warning", reason: "EpochIgnored", action: "Ignore", note });
  };
  for (const uid of group.malformed) {
    const member = group.members.get(uid);
    if (member?.pod.epoch.kind !== "malformed" || member.standing === "outside") continue;
    const { text } = member.pod.epoch;
    report(
      member,
      text,
      `epoch ${JSON.stringify(text.slice(0, 40))} is not a number written by an agent; the Pod counts as having none`,
    );
  }
  if (!epochRuns(status) || highestEpoch(group) <= status.syncedEpoch + 1) return reports;
  for (const member of group.members.values()) {
    const epoch = epochOf(member);
    if (member.standing !== "live" || epoch === undefined || epoch <= status.syncedEpoch + 1) continue;
    report(
      member,
      String(epoch),
      `epoch ${epoch} is ahead of the group, which is at ${status.syncedEpoch}; no agent can have taken it`,
    );
  }
  return reports;
}
