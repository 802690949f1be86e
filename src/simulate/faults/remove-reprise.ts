// A user removes reprise from the cluster, and with it the type InPlaceRestart and every object of it.
import { JOB_SET } from "../shape.ts";
import { type FaultDefinition, never } from "./fault.ts";

/** Agents believe after two minutes that the type is gone. */
export const REMOVAL_MS = 150_000;

export const removeReprise: FaultDefinition = {
  text: "reprise is removed, and with it the type InPlaceRestart",
  byRequest: true,
  mayCount: never,
  strike({ world, controllers }) {
    controllers.remove();
    world.isRemoved = true;
    world.api.delete("object", JOB_SET);
  },
};
