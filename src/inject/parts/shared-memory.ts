// Which shared memory the agent clears before the workers start, and how it sees it. Pure. /dev/shm belongs to the Pod
// and survives a restart in place, with everything that killed workers left in it.

import { AGENT, SHARED_MEMORY_ENV, SHARED_MEMORY_FOLDER } from "../../api/names.ts";
import { isObject, listAt, named, objectAt } from "../../json/edit.ts";
import type { Json, JsonObject } from "../../json/types.ts";

/**
 * `none`: the agent clears nothing. `pod`: the Pod's own /dev/shm. Otherwise also the volume of this name, which hides
 * the Pod's own in the workers.
 */
export type SharedMemory = "none" | "pod" | { readonly volume: string };

export function sharedMemoryOf(podSpec: JsonObject, workers: readonly JsonObject[], isKept: boolean): SharedMemory {
  // With hostIPC, /dev/shm belongs to the node and everything that runs on it.
  if (isKept || podSpec["hostIPC"] === true) return "none";
  const mounted = new Set(workers.flatMap((worker) => listAt(worker, "volumeMounts").flatMap(volumeAtSharedMemory)));
  const [volume] = mounted;
  if (volume === undefined || mounted.size > 1) return "pod";
  // Other volumes may hold what must not be cleared.
  const isMemory = objectAt(named(listAt(podSpec, "volumes"), volume), "emptyDir")?.["medium"] === "Memory";
  return isMemory ? { volume } : "pod";
}

function volumeAtSharedMemory(mount: Json): string[] {
  if (!isObject(mount)) return [];
  const { name, mountPath, subPath, subPathExpr } = mount;
  const isWhole = subPath === undefined && subPathExpr === undefined;
  const isThere = mountPath === SHARED_MEMORY_FOLDER || mountPath === `${SHARED_MEMORY_FOLDER}/`;
  return isThere && isWhole && typeof name === "string" ? [name] : [];
}

export function sharedMemoryEnv(memory: SharedMemory): JsonObject[] {
  if (memory === "none") return [];
  const folders = memory === "pod" ? [SHARED_MEMORY_FOLDER] : [SHARED_MEMORY_FOLDER, AGENT.sharedMemoryMountPath];
  return [{ name: SHARED_MEMORY_ENV, value: folders.join(":") }];
}

export function sharedMemoryMount(memory: SharedMemory): JsonObject[] {
  return typeof memory === "string" ? [] : [{ name: memory.volume, mountPath: AGENT.sharedMemoryMountPath }];
}

/** Whether a variable or mount of an agent is one of these. An earlier agent may have one that this one has not. */
export function isSharedMemoryPart(item: JsonObject): boolean {
  return item["name"] === SHARED_MEMORY_ENV || item["mountPath"] === AGENT.sharedMemoryMountPath;
}
