// Clears shared memory before the workers start again, and measures what is left. Only after a restart in place: before
// the first start, no worker of this Pod can have left anything. The agent is the first container, so no worker runs
// meanwhile.
import { file, Glob, write } from "bun";
import { reasonOf } from "../../src/errors.ts";
import { seenPath } from "../barrier/gate-socket.ts";
import type { Log } from "../log.ts";
import { clearFolder, isOwn } from "./clear-folder.ts";

/** What is left in bytes, or undefined before the first start. Never rejects. */
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
      if (isEmpty(folder)) continue;
      const cleared = await clearFolder(folder);
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

/** Most programs leave nothing. This check takes a third of a millisecond. */
function isEmpty(folder: string): boolean {
  for (const name of new Glob("*").scanSync({ cwd: folder, dot: true, onlyFiles: false }))
    if (!isOwn(name)) return false;
  return true;
}
