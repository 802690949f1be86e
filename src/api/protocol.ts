// Which restart protocol a JobSet uses, and where its agents write their epoch. Pure.
import { asMap } from "../json/fields.ts";
import { JOBSET } from "./names.ts";

/** `epoch` is reprise's own. `jobset` is the one built into JobSet (KEP-467): its controller counts the attempts. */
export type Protocol = "epoch" | "jobset";

/**
 * Takes the spec of a JobSet, either raw or as `readJobSet` projects it: both keep `failurePolicy` in the same place.
 */
export function protocolOf(spec: unknown): Protocol {
  return asMap(asMap(spec)["failurePolicy"])["restartStrategy"] === "InPlaceRestart" ? "jobset" : "epoch";
}

/** The Pod annotation in which the agent publishes its epoch, or its attempt. */
export function epochAnnotation(protocol: Protocol): string {
  return protocol === "epoch" ? JOBSET.epochAnnotation : JOBSET.inPlaceRestartAttemptAnnotation;
}
