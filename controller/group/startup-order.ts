// The order in which stages start: which stages an epoch waits for, which are held when it starts, and when a held
// stage is released. JobSet keeps the order when it creates Jobs; after a restart in place all Pods exist already, and
// status.heldStages keeps it. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { Dependency } from "../../src/api/jobset.ts";
import { type Group, participants, type StageTally } from "./group.ts";
import { expectedSlots } from "./slots.ts";
import type { Stage } from "./stages.ts";

/**
 * Stages whose Pods must all be at the barrier before an epoch starts: stages whose Jobs all exist, and those that
 * JobSet starts next. If a Job of a later stage was deleted, JobSet recreates it only after the epoch has started.
 */
export function dueStages(group: Group): readonly StageTally[] {
  return participants(group).filter(
    ({ stage, startedJobs }) => startedJobs >= stage.jobs || everyPrerequisite(group, stage, isMetForGood),
  );
}

/** No worker runs when an epoch starts, so only prerequisites that are met for good let a later stage start with it. */
export function stagesHeldAtSync(group: Group): readonly string[] {
  return participants(group)
    .filter(({ stage }) => !everyPrerequisite(group, stage, isMetForGood))
    .map(({ stage }) => stage.name);
}

/** Held stages whose prerequisites are met, and whose Pods all wait at the synced epoch. */
export function releasableStages(group: Group, { heldStages, syncedEpoch }: InPlaceRestartStatus): readonly string[] {
  return heldStages.filter((name) => {
    const tally = group.stages.get(name);
    // The stage was removed, so there is nothing to hold.
    if (tally === undefined) return true;
    return isComplete(tally, syncedEpoch) && !isEnding(group, name) && everyPrerequisite(group, tally.stage, isMet);
  });
}

/** A Pod whose Job is gone is in no count, and its worker would start beside that of its successor. */
function isEnding({ ending, members }: Group, stage: string): boolean {
  return [...ending].some((uid) => members.get(uid)?.pod.replicatedJob === stage);
}

/** Held stages that only wait for their own Pods. */
export function unfilledStages(group: Group, { heldStages, syncedEpoch }: InPlaceRestartStatus): readonly StageTally[] {
  return participants(group).filter(
    (tally) =>
      heldStages.includes(tally.stage.name) &&
      (!isComplete(tally, syncedEpoch) || isEnding(group, tally.stage.name)) &&
      (tally.startedJobs > 0 || everyPrerequisite(group, tally.stage, isMet)),
  );
}

/** Every slot is done or holds a Pod at this epoch, and no Pod of the stage may still run in another one. */
export function isComplete(tally: StageTally, epoch: number): boolean {
  return tally.occupied >= expectedSlots(tally) && isTogether(tally, epoch);
}

/**
 * Every Pod that exists is at this epoch, and its address is known: a worker asks for the names of the others when it
 * starts, and not every program asks again. A kubelet may report the address after the agent has taken its epoch.
 */
export function isTogether({ epochs, unpublished, unaddressed, ending }: StageTally, epoch: number): boolean {
  const isAnyMissing = unpublished > 0 || unaddressed > 0 || ending > 0;
  return !isAnyMissing && [...epochs.keys()].every((other) => other === epoch);
}

function everyPrerequisite(
  group: Group,
  { prerequisites }: Stage,
  holds: (group: Group, prerequisite: Dependency) => boolean,
): boolean {
  return prerequisites.every((prerequisite) => holds(group, prerequisite));
}

function isMet(group: Group, prerequisite: Dependency): boolean {
  if (isMetForGood(group, prerequisite)) return true;
  const tally = group.stages.get(prerequisite.name);
  return prerequisite.status === "Ready" && tally !== undefined && tally.ready + tally.done >= expectedSlots(tally);
}

/** A restart cannot undo it: the whole stage has succeeded, or the stage does not restart with the group. */
function isMetForGood(group: Group, { name, status }: Dependency): boolean {
  const tally = group.stages.get(name);
  if (tally === undefined) return true;
  if (tally.stage.participates) return tally.done >= expectedSlots(tally);
  const jobs = [...group.jobs.values()].filter(
    ({ job }) => job.replicatedJob === name && job.controller?.uid === group.jobSet?.uid,
  );
  const met = jobs.filter(
    ({ job }) => job.outcome === "Complete" || (status === "Ready" && job.ready + job.succeeded >= job.parallelism),
  );
  return met.length >= tally.stage.jobs;
}
