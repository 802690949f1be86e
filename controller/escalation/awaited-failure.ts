// A crash that a rule of failurePolicy makes final may be reported after the crashes that it caused: each kubelet
// reports on its own. Once the epoch is deprecated every worker is stopped, and its own crash can no longer be told.
// Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { epochRuns } from "../group/epochs.ts";
import { proofs } from "../group/evidence.ts";
import { type Group, type Loss, participants } from "../group/group.ts";
import { unseenCrashes } from "../group/own-crash.ts";
import { finalRuleFor, stagesWithFinalRule } from "./rule-failures.ts";

/** Each kubelet looks for exits once a second, and reports on its own. */
const REPORT_MS = 2_000;

/** Until when a crash waits for one that would be final. Undefined where no rule makes only some crashes final. */
export function finalFailureAwaitedUntil(group: Group, status: InPlaceRestartStatus, now: number): number | undefined {
  const { jobSet } = group;
  if (jobSet?.failurePolicy?.rules === undefined || !epochRuns(status)) return undefined;
  const losses = [...proofs(group, status, now)].map(([, loss]) => loss);
  const crashes = [...losses, ...unseenCrashes(group, status)];
  if (crashes.length === 0 || !losses.every(isCrash)) return undefined;
  const lost = new Set(crashes.map(({ stage }) => stage));
  const final = stagesWithFinalRule(group, jobSet, status);
  const isFinal = (stage: string) =>
    final.has(stage) &&
    [...group.jobs.values()].some(
      ({ job }) =>
        job.replicatedJob === stage &&
        finalRuleFor(jobSet, status, { stage, job: job.uid, epoch: status.syncedEpoch }) !== undefined,
    );
  const awaited = participants(group).filter(({ stage }) => !lost.has(stage.name) && isFinal(stage.name));
  if (awaited.length === 0) return undefined;
  return crashes.reduce((first, { at }) => Math.min(first, at), Number.POSITIVE_INFINITY) + REPORT_MS;
}

function isCrash({ cause, requestedAction }: Loss): boolean {
  return (cause.reason === "ContainerExited" || cause.reason === "PodRestarted") && requestedAction === "restart";
}
