// The order in which stages start: which of them are due, which stay held when a new epoch begins, and when a held one is
// let go. JobSet keeps the order when it creates Jobs; after a restart in place all Pods exist already, and `heldStages` keeps it. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { Dependency } from "../../src/api/jobset.ts";
import { type Group, participants, type StageTally } from "./group.ts";
import { expectedSlots } from "./slots.ts";

/**
 * Stages whose Pods must all be there before an epoch begins: started ones, and those that JobSet starts next. A Job that somebody
 * deleted JobSet makes anew only when its turn has come again, and so never before the epoch begins.
 */
export function dueStages(group: Group): readonly StageTally[] {
  return participants(group).filter(
    ({ stage, startedJobs }) =>
      startedJobs >= stage.jobs || stage.prerequisites.every((prerequisite) => isOver(group, prerequisite)),
  );
}

/** When an epoch begins no worker of it runs yet, so only what is over for good lets a later stage start with the first. */
export function heldAtSync(group: Group): readonly string[] {
  return participants(group)
    .filter(({ stage }) => !stage.prerequisites.every((prerequisite) => isOver(group, prerequisite)))
    .map(({ stage }) => stage.name);
}

/** Held stages whose turn has come, and whose Pods all wait at the synced epoch. */
export function releasable(group: Group, { heldStages, syncedEpoch }: InPlaceRestartStatus): readonly string[] {
  return heldStages.filter((name) => {
    const tally = group.stages.get(name);
    // No such stage: nobody waits for it to be let go.
    if (tally === undefined) return true;
    return (
      isComplete(tally, syncedEpoch) && tally.stage.prerequisites.every((prerequisite) => isMet(group, prerequisite))
    );
  });
}

/** Held stages whose Pods should come by now, and are not all there: nobody else holds them up. */
export function unfilled(group: Group, { heldStages, syncedEpoch }: InPlaceRestartStatus): readonly StageTally[] {
  return participants(group).filter(
    (tally) =>
      heldStages.includes(tally.stage.name) &&
      !isComplete(tally, syncedEpoch) &&
      (tally.startedJobs > 0 || tally.stage.prerequisites.every((prerequisite) => isMet(group, prerequisite))),
  );
}

/** Every slot is done or holds a Pod at this epoch, and no other Pod of the stage may still run. */
export function isComplete(tally: StageTally, epoch: number): boolean {
  return tally.occupied >= expectedSlots(tally) && isTogether(tally, epoch);
}

/** Whoever is there is at this epoch. */
export function isTogether({ epochs, unpublished, ending }: StageTally, epoch: number): boolean {
  return unpublished === 0 && ending === 0 && [...epochs.keys()].every((other) => other === epoch);
}

function isMet(group: Group, prerequisite: Dependency): boolean {
  if (isOver(group, prerequisite)) return true;
  const tally = group.stages.get(prerequisite.name);
  return prerequisite.status === "Ready" && tally !== undefined && tally.ready + tally.done >= expectedSlots(tally);
}

/** Met whatever restarts: everything in the stage has succeeded, or the stage does not restart with the group. */
function isOver(group: Group, { name, status }: Dependency): boolean {
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
