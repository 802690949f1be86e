// Removes what the workers of an earlier run left in a folder of shared memory. Only regular files: those take memory.
// What belongs to another user stays, and is measured.
import type { Stats } from "node:fs";
import { AGENT_FILE_PREFIX } from "../barrier/agent-files.ts";

export interface Cleared {
  readonly files: number;
  readonly bytes: number;
  /** What could not be removed. */
  readonly leftBytes: number;
}

/** The unit of `blocks`, whatever the block size of the file system. */
const BLOCK_BYTES = 512;

/** Never rejects: a file that resists must not keep the workers from starting. */
export function clearFolder(folder: string): Cleared {
  // Loaded only when there is something to clear, because it takes 2 MiB of memory. Not with `import()`: bun would put
  // the module's bytecode into the executable, which takes 1.5 MiB in every agent, also in those that never load it.
  const { lstatSync, readdirSync, unlinkSync } = process.getBuiltinModule("node:fs");
  const cleared = { files: 0, bytes: 0, leftBytes: 0 };
  const clear = (path: string, stats: Stats): void => {
    if (stats.isDirectory())
      for (const name of attempt(() => readdirSync(path)) ?? []) {
        // A symbolic link is not followed: it may lead anywhere.
        const inside = isOwn(name) ? undefined : attempt(() => lstatSync(`${path}/${name}`));
        if (inside !== undefined) clear(`${path}/${name}`, inside);
      }
    if (!stats.isFile()) return;
    // Not the size: a file may be much longer than the memory that it takes.
    const bytes = stats.blocks * BLOCK_BYTES;
    const isGone = attempt(() => unlinkSync(path) ?? true) === true;
    cleared.files += isGone ? 1 : 0;
    cleared[isGone ? "bytes" : "leftBytes"] += bytes;
  };
  const stats = attempt(() => lstatSync(folder));
  if (stats !== undefined) clear(folder, stats);
  return cleared;
}

/** Also the files of other agents, in case Pods share the folder. */
function isOwn(name: string): boolean {
  return name.startsWith(AGENT_FILE_PREFIX);
}

function attempt<T>(step: () => T): T | undefined {
  try {
    return step();
  } catch {
    return undefined;
  }
}
