// The executor of decisions. The controller, the simulator, the exhaustive model and the test scene share it, so the
// order of writes exists once; each supplies its own writes. It reads no state and decides nothing.
import type { InPlaceRestart } from "../src/api/in-place-restart.ts";
import type { JobSet } from "../src/api/jobset.ts";
import type { Decision } from "./decide.ts";

/** The objects that the decision was derived from, in the versions that were seen. */
export interface Basis {
  readonly jobSet: JobSet;
  readonly object: InPlaceRestart | undefined;
}

type Kind<K extends Decision["kind"]> = Extract<Decision, { readonly kind: K }>;

/**
 * The writes that decisions consist of. Each must name the exact object by UID and, where it builds on a version, that
 * version, so that a stale leader or a stale cache is refused and changes nothing. `Pending` is whatever the caller
 * waits for: a promise, a request to send, or nothing.
 */
export interface Writes<Pending> {
  /** Without a status: agents are told no epoch before the next decision writes one. */
  createObject(jobSet: JobSet): Pending;
  deleteObject(object: InPlaceRestart): Pending;
  writeStatus(object: InPlaceRestart, status: Kind<"write">["status"]): Pending;
  failJobSet(jobSet: JobSet, failure: Pick<Kind<"fail">, "reason" | "message">): Pending;
  deletePod(jobSet: JobSet, pod: Kind<"delete-pod">["pod"]): Pending;
  failJob(jobSet: JobSet, job: Kind<"fail-job">["job"]): Pending;
  /** The decision took effect: count it and publish its notices. A later write only records it. */
  decided(decision: Decision): void;
}

/**
 * Yields each write as it is sent. Ask for the next one only after the last one succeeded, and stop at the first that
 * is refused: the next decision then starts from what is stored.
 */
export function* execute<Pending>(
  decision: Decision,
  { jobSet, object }: Basis,
  writes: Writes<Pending>,
): Generator<Pending, void, void> {
  switch (decision.kind) {
    case "create":
      yield writes.createObject(jobSet);
      break;
    case "delete":
      yield writes.deleteObject(decision.object);
      break;
    case "write":
      if (object === undefined) return;
      yield writes.writeStatus(object, decision.status);
      break;
    case "fail":
      yield writes.failJobSet(jobSet, decision);
      break;
    case "delete-pod":
      yield writes.deletePod(jobSet, decision.pod);
      break;
    case "fail-job":
      yield writes.failJob(jobSet, decision.job);
      break;
  }
  writes.decided(decision);
  // The JobSet comes first because failing it is what stops the workload; the status only records it.
  if (decision.kind === "fail" && decision.status !== undefined && object !== undefined)
    yield writes.writeStatus(object, decision.status);
}
