// A worker fails, and its peers exit at once because they have lost the connection to it.
import { always, type FaultDefinition } from "./fault.ts";

/** The codes of the worker that fails first: as its peers, a code of its own, a segmentation fault. */
const FIRST_CODES = [1, 3, 139] as const;
const PEERS_FOLLOW_MS = [1, 50] as const;

export const crashTogether: FaultDefinition = {
  text: "one worker fails, always of the same slot, and all others exit with code 1 within 50 ms",
  byRequest: false,
  mayCount: always,
  strike({ world, nodes }) {
    const [first, ...peers] = nodes.pods
      .filter(({ hasWorker }) => hasWorker)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    first?.endWorker(world.random.pick(FIRST_CODES) ?? 1);
    for (const peer of peers) world.after(...PEERS_FOLLOW_MS, () => peer.endWorker(1));
  },
};
