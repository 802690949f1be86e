// Clears shared memory before the workers start again, and measures what is left. Only after a restart in place: before
// the first start, no worker of this Pod can have left anything. The agent is the first container, so no worker runs
// meanwhile.
import { file, write } from "bun";
import { reasonOf } from "../../src/errors.ts";
import { savedRemovalPath, seenPath } from "../barrier/agent-files.ts";
import type { Log } from "../log.ts";
import { clearFolder } from "./clear-folder.ts";

/**
 * What is left in bytes, or undefined before the first start. Never rejects. The agent's socket must not be there yet.
 */
export async function clearSharedMemory(
  folders: readonly string[],
  podUid: string,
  log: Log,
): Promise<number | undefined> {
  let leftBytes: number | undefined;
  for (const folder of folders) {
    try {
      if (await isFirstVisit(folder, podUid)) continue;
      leftBytes ??= 0;
      if (await isClear(folder, podUid)) continue;
      const cleared = clearFolder(folder);
      leftBytes += cleared.leftBytes;
      if (cleared.files > 0) log.info("cleared shared memory", { folder, files: cleared.files, bytes: cleared.bytes });
      if (cleared.leftBytes > 0)
        log.warn("an earlier run left shared memory that the agent may not clear", {
          folder,
          bytes: cleared.leftBytes,
        });
    } catch (error) {
      log.warn("cannot clear shared memory", { folder, reason: reasonOf(error) });
    }
  }
  return leftBytes;
}

/** Leaves a mark: shared memory belongs to the sandbox or a volume, and outlives the containers. */
async function isFirstVisit(folder: string, podUid: string): Promise<boolean> {
  const mark = seenPath(folder, podUid);
  if (await file(mark).exists()) return false;
  await write(mark, "");
  return true;
}

/** What tmpfs counts for each entry of a folder; an empty folder has two. */
const BYTES_PER_ENTRY = 20;

/**
 * Whether the folder holds files of the agent only, which is the usual case. To list it would take another MiB of
 * memory in every Pod. Where a folder has another size than tmpfs gives it, it is listed.
 */
async function isClear(folder: string, podUid: string): Promise<boolean> {
  const own = [seenPath(folder, podUid), savedRemovalPath(podUid)];
  const inFolder = own.filter((path) => path.startsWith(`${folder}/`)).map((path) => file(path).exists());
  const entries = 2 + (await Promise.all(inFolder)).filter((exists) => exists).length;
  return file(folder).size === entries * BYTES_PER_ENTRY;
}
