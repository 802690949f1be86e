// The clocks of the nodes. They differ a little, as they do in a cluster that synchronizes them.
import type { Pod } from "../api/pod.ts";
import { NODES } from "./shape.ts";

/** More than a cluster should have, and less than what blame must tolerate. */
const OFFSETS_MS = [0, 300, -250] as const;

/** The time as a kubelet reports it, in whole seconds. `clock` in milliseconds since 1970. */
export function nodeTime(node: Pod["node"], clock: number): string {
  const names: readonly (string | undefined)[] = NODES;
  const offset = OFFSETS_MS[names.indexOf(node)] ?? 0;
  return new Date(Math.floor((clock + offset) / 1_000) * 1_000).toISOString();
}
