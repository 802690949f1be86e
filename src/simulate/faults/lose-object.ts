// A user deletes the InPlaceRestart.
import { JOB_SET } from "../shape.ts";
import { type FaultDefinition, never } from "./fault.ts";

export const loseObject: FaultDefinition = {
  text: "the InPlaceRestart is deleted by hand",
  byRequest: true,
  mayCount: never,
  strike: ({ world }) => world.api.delete("object", JOB_SET),
};
