// A lock file that names its holder. A lock whose holder has died can be taken, so kill -9 never leaves it stuck.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, type ProcessIdentity, thisProcess } from "./proc.ts";

interface Holder extends ProcessIdentity {
  readonly purpose: string;
  readonly checkout: string;
  readonly since: string;
}

const RETRY_MS = 500;

/** Waits until no living process holds the lock, then holds it until the returned function is called. */
export async function holdLock(file: string, purpose: string): Promise<() => void> {
  for (;;) {
    const holder = tryLock(file, purpose);
    if (holder === undefined) return () => rmSync(file, { force: true });
    await sleep(RETRY_MS);
  }
}

/**
 * Takes the lock at once, or throws an error that names the holder. With `evenFromUs` a process can end a cluster
 * that it is still starting.
 */
export function takeLock(file: string, purpose: string, { evenFromUs = false } = {}): () => void {
  const holder = tryLock(file, purpose);
  if (holder === undefined || (evenFromUs && holder.pid === process.pid)) return () => rmSync(file, { force: true });
  throw new Error(
    `${purpose}: ${file} is held by process ${holder.pid} ` +
      `(${holder.purpose}, checkout ${holder.checkout}, since ${holder.since}); wait for it or end it`,
  );
}

/** Returns the living holder, or undefined when the lock is now ours. */
function tryLock(file: string, purpose: string): Holder | undefined {
  const mine: Holder = { ...thisProcess(), purpose, checkout: process.cwd(), since: new Date().toISOString() };
  for (;;) {
    try {
      writeFileSync(file, JSON.stringify(mine), { flag: "wx" });
      return undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = readHolder(file);
    if (holder !== undefined && isAlive(holder)) return holder;
    rmSync(file, { force: true });
  }
}

function readHolder(file: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Holder;
  } catch {
    return undefined; // The file is gone, or its writer was killed while writing.
  }
}
