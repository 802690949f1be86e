// A user deletes the InPlaceRestart.
import { deleteInPlaceRestart } from "../garbage-collector.ts";
import { type FaultDefinition, never } from "./fault.ts";

export const loseObject: FaultDefinition = {
  text: "the InPlaceRestart is deleted by hand",
  byRequest: true,
  mayCount: never,
  strike: ({ world }) => deleteInPlaceRestart(world),
};
