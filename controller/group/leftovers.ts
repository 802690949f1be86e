// What earlier runs left in the /dev/shm of a Pod, as far as it matters. Pure.
import type { Pod } from "../../src/api/pod.ts";

const MEBIBYTE = 2 ** 20;

/** A quarter of the 64 MiB that a container runtime gives to /dev/shm by default. */
const LARGE_BYTES = 16 * MEBIBYTE;

/** The leftovers of a Pod in MiB, if they are large enough to matter. */
export function largeLeftovers({ shmLeftoverBytes = 0 }: Pod): number | undefined {
  return shmLeftoverBytes < LARGE_BYTES ? undefined : Math.floor(shmLeftoverBytes / MEBIBYTE);
}

/** What is reported about them: it changes whenever they have doubled or halved. */
export function leftoversText(pod: Pod): string | undefined {
  const mebibytes = largeLeftovers(pod);
  return mebibytes === undefined ? undefined : `2^${Math.floor(Math.log2(mebibytes))} MiB`;
}
