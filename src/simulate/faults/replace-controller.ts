// Faults of the controller: its leader is killed, or leads on for a while after another replica took over.
import { type FaultDefinition, never } from "./fault.ts";

export const killController: FaultDefinition = {
  text: "the controller is killed, and another starts seconds later",
  byRequest: false,
  mayCount: never,
  strike: ({ controllers }) => controllers.killLeader(),
};

export const secondLeader: FaultDefinition = {
  text: "another controller leads while the old one still writes for some seconds",
  byRequest: false,
  mayCount: never,
  strike: ({ controllers, world }) => controllers.overlapLeaders(world.random.between(500, 8_000)),
};
