// What earlier runs left in the /dev/shm of a Pod. It survives a restart in place, and a worker that finds no room
// there fails at once. Pure.
import type { Group } from "../group/group.ts";
import { largeLeftovers, leftoversText } from "../group/leftovers.ts";
import { type PodReport, wasReported } from "./pod-report.ts";

export function describeLeftovers(mebibytes: number): string {
  return `${mebibytes} MiB left in /dev/shm by earlier runs`;
}

/** One report for each Pod, and another one whenever its leftovers have doubled or halved. */
export function reportLeftovers(group: Group): readonly PodReport[] {
  return [...group.newLeftovers].flatMap((uid) => {
    const member = group.members.get(uid);
    if (member?.state !== "live") return [];
    const [mebibytes, text] = [largeLeftovers(member.pod), leftoversText(member.pod)];
    const reason = "SharedMemoryLeft";
    if (mebibytes === undefined || text === undefined || wasReported(group, uid, reason, text)) return [];
    const remedy = "let the worker remove its files there when it starts";
    const note = `${describeLeftovers(mebibytes)}: it takes up memory of the next run; ${remedy}`;
    return [{ pod: { name: member.pod.name, uid }, text, type: "Warning", reason, action: "Restart", note }];
  });
}
