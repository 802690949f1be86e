// Which of the two restart protocols a JobSet uses.

import { JOBSET } from "../api/names.ts";
import { objectAt } from "../json/edit.ts";
import type { JsonObject } from "../json/types.ts";

/** `epoch` is ours; `jobset` is upstream's own, whose controller then keeps the attempts. */
export type Protocol = "epoch" | "jobset";

export function protocolOf(jobSetSpec: JsonObject): Protocol {
  return objectAt(jobSetSpec, "failurePolicy")?.["restartStrategy"] === "InPlaceRestart" ? "jobset" : "epoch";
}

/** The annotation on which the agent of a Pod writes its epoch, or its attempt. */
export function epochAnnotation(protocol: Protocol): string {
  return protocol === "epoch" ? JOBSET.epochAnnotation : JOBSET.inPlaceRestartAttemptAnnotation;
}
