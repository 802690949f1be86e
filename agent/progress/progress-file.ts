// Looks at the file that a worker touches or writes once per step. It must never harm the worker: it only looks at a
// regular file, never reads more than a line of a small one, and has at most one look under way.
import { file } from "bun";
import type { Sighting } from "./decide-progress.ts";
import { readStep } from "./step.ts";

/** Longer than a line with a step. A log or a checkpoint is never read: its size and time are enough. */
const MOST_BYTES = 256;

/** File type bits of st_mode (inode(7)). */
const TYPE_MASK = 0o170_000;
const REGULAR = 0o100_000;

export async function lookAtFile(path: string): Promise<Sighting> {
  try {
    const { mode, size, ino, mtimeMs } = await file(path).stat();
    // To open a FIFO would wait for its writer.
    if ((mode & TYPE_MASK) !== REGULAR) return { kind: "unreadable", reason: "it is not a regular file" };
    const step = size > 0 && size <= MOST_BYTES ? readStep(await textOf(path)) : undefined;
    return { kind: "seen", mark: `${ino}/${size}/${mtimeMs}/${step ?? ""}`, ...(step === undefined ? {} : { step }) };
  } catch (error) {
    const code = codeOf(error);
    return code === "ENOENT" ? { kind: "absent" } : { kind: "unreadable", reason: code };
  }
}

/** A file that may not be read can still be watched. */
async function textOf(path: string): Promise<string> {
  try {
    return await file(path).slice(0, MOST_BYTES).text();
  } catch {
    return "";
  }
}

function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : String(error);
}
