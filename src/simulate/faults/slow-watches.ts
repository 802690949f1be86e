// The API server answers requests, but its watches lag.
import { type FaultDefinition, never } from "./fault.ts";

export const slowWatches: FaultDefinition = {
  text: "watches lag by up to 3 seconds",
  byRequest: false,
  mayCount: never,
  strike: ({ world }) => world.api.slowDownFor(world.random.between(2_000, 20_000)),
};
