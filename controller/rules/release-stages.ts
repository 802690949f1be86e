// Held stages start one after the other, as the startup order of the JobSet says. Pure.
import { epochRuns } from "../group/epochs.ts";
import { releasableStages } from "../group/startup-order.ts";
import type { Context, Step } from "./rule.ts";

export function releaseStages({ group, status }: Context): Step | undefined {
  if (!epochRuns(status)) return undefined;
  const released = releasableStages(group, status);
  if (released.length === 0) return undefined;
  const heldStages = status.heldStages.filter((name) => !released.includes(name));
  return { status: { ...status, heldStages }, notices: [] };
}
