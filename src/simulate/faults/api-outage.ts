// The API server is unreachable, for a moment or for longer than a whole restart takes.
import { type FaultDefinition, never } from "./fault.ts";

const OUTAGES = { longShare: 0.3, shortMs: [1_000, 20_000], longMs: [60_000, 180_000] } as const;

export const LONGEST_OUTAGE_MS = OUTAGES.longMs[1];

export const apiOutage: FaultDefinition = {
  text: "the API server is gone for up to 20 seconds, or for one to three minutes",
  byRequest: false,
  mayCount: never,
  strike: ({ world }) => world.api.breakFor(outageMs(world.random.next())),
};

/** Both the kind and the length of the outage follow from one draw. */
function outageMs(chance: number): number {
  const { longShare, shortMs, longMs } = OUTAGES;
  const isLong = chance < longShare;
  const [least, most] = isLong ? longMs : shortMs;
  return least + (most - least) * (isLong ? chance / longShare : (chance - longShare) / (1 - longShare));
}
