// What earlier runs left in the /dev/shm of a Pod. It survives a restart in place, and a worker that finds no room
// there fails at once. Pure.
import type { Pod } from "../../src/api/pod.ts";
import type { Group } from "../group/group.ts";
import { type PodReport, wasReported } from "./pod-report.ts";

const MEBIBYTE = 2 ** 20;

/** A quarter of the 64 MiB that a container runtime gives to /dev/shm by default. */
const LARGE_BYTES = 16 * MEBIBYTE;

/** The leftovers of a Pod in MiB, if they are large enough to matter. */
export function largeLeftovers({ shmLeftoverBytes = 0 }: Pod): number | undefined {
  return shmLeftoverBytes < LARGE_BYTES ? undefined : Math.floor(shmLeftoverBytes / MEBIBYTE);
}

export function describeLeftovers(mebibytes: number): string {
  return `${mebibytes} MiB left in /dev/shm by earlier runs`;
}

/** One report for each Pod, and another one whenever its leftovers have doubled or halved. */
export function reportLeftovers(group: Group): readonly PodReport[] {
  return [...group.withLeftovers].flatMap((uid) => {
    const member = group.members.get(uid);
    const mebibytes = member === undefined || member.state !== "live" ? undefined : largeLeftovers(member.pod);
    if (member === undefined || mebibytes === undefined) return [];
    const text = `2^${Math.floor(Math.log2(mebibytes))} MiB`;
    const reason = "SharedMemoryLeft";
    if (wasReported(group, uid, reason, text)) return [];
    const remedy = "let the worker remove its files there when it starts";
    const note = `${describeLeftovers(mebibytes)}: it takes up memory of the next run; ${remedy}`;
    return [{ pod: { name: member.pod.name, uid }, text, type: "Warning", reason, action: "Restart", note }];
  });
}
