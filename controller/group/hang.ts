// Whether the workers of the running epoch have stopped making progress, and which of them stopped first. The group is
// judged, never a single Pod: a Pod without a report moves. Pure.
import { parseDuration } from "../../src/api/duration.ts";
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { epochOf, epochRuns } from "./epochs.ts";
import { type Group, type Member, participants } from "./group.ts";

export interface GroupHang {
  /** Undefined if it is not clear which Pod stopped first. */
  readonly blamed: Member | undefined;
  /** Those that have stopped, or have not started; the first one first. */
  readonly stopped: readonly Stopped[];
  /** The verdict is due at this time, in milliseconds since 1970. */
  readonly at: number;
}

interface Stopped {
  readonly member: Member;
  readonly since: number;
  readonly step?: number;
  readonly rank?: number;
}

/** An agent looks twice a second, and takes back its report if the worker moves again. */
const SETTLE_MS = 750;

/** How much the clocks of two nodes may differ, and how late a look may be. */
const MARGIN_MS = 2_000;

/** Whether the agent reports, in the epoch of its Pod, that the worker makes no progress. */
export function isReported({ state, pod }: Member): boolean {
  return state === "live" && pod.hang !== undefined && pod.hang.epoch === epochOf({ pod });
}

export function findHang(group: Group, jobSet: JobSet, status: InPlaceRestartStatus): GroupHang | undefined {
  if (group.hanging.size === 0 || !epochRuns(status) || jobSet.suspended || group.ending.size > 0) return undefined;
  const { syncedEpoch, heldStages } = status;
  const judged = participants(group).filter(({ stage }) => !heldStages.includes(stage.name));
  const expected = judged.reduce((sum, { epochs }) => sum + (epochs.get(syncedEpoch) ?? 0), 0);
  // The usual case costs nothing: most Pods have no report.
  if (group.hanging.size < expected) return undefined;
  const names = new Set(judged.map(({ stage }) => stage.name));
  const deadline = parseDuration(jobSet.annotations[ANNOTATION.startDeadline] ?? "");
  let [reported, at] = [0, 0];
  const stopped: Stopped[] = [];
  const unstarted: Stopped[] = [];
  for (const uid of group.hanging) {
    const member = group.members.get(uid);
    const report = member?.pod.hang;
    if (member === undefined || report?.epoch !== syncedEpoch || !names.has(member.pod.replicatedJob)) continue;
    // A worker that has not started yet, for example because its image is pulled, does not hang.
    if (!member.running) return undefined;
    reported += 1;
    at = Math.max(at, (member.hangSeenAt ?? 0) + SETTLE_MS);
    const { since, step, rank } = report;
    const known = { since, ...(step === undefined ? {} : { step }), ...(rank === undefined ? {} : { rank }) };
    if (report.state === "stopped") stopped.push({ member, ...known });
    if (report.state !== "unstarted" || deadline === undefined) continue;
    unstarted.push({ member, ...known });
    at = Math.max(at, startOf(member) + deadline);
  }
  const all = stopped.length > 0 ? stopped : unstarted;
  if (reported < expected || all.length === 0) return undefined;
  const ordered = all.toSorted((a, b) => (a.step ?? 0) - (b.step ?? 0) || a.since - b.since);
  return { blamed: stopped.length > 0 ? findFirst(stopped)?.member : undefined, stopped: ordered, at };
}

/** The agent counts from the end of the barrier, and the kubelet may pull images after that. */
function startOf({ pod }: Member): number {
  const starts = pod.containers.map(({ init, state }) =>
    !init && state.kind === "running" ? Date.parse(state.startedAt ?? "") : Number.NaN,
  );
  return Math.max(0, ...starts.filter((start) => !Number.isNaN(start)));
}

/** The one Pod that is behind all others, or else the one that stopped clearly before all others. */
function findFirst(stopped: readonly Stopped[]): Stopped | undefined {
  const [only, ...more] = stopped;
  if (more.length === 0) return only;
  return findBehind(stopped) ?? findEarliest(stopped);
}

/** Steps of different replicatedJobs need not mean the same. */
function findBehind(stopped: readonly Stopped[]): Stopped | undefined {
  const stages = new Set(stopped.map(({ member }) => member.pod.replicatedJob));
  const steps = stopped.flatMap(({ step }) => step ?? []);
  if (stages.size > 1 || steps.length < stopped.length) return undefined;
  const least = steps.reduce((lowest, step) => Math.min(lowest, step), Number.POSITIVE_INFINITY);
  const behind = stopped.filter(({ step }) => step === least);
  return behind.length === 1 ? behind[0] : undefined;
}

function findEarliest(stopped: readonly Stopped[]): Stopped | undefined {
  const [first, second] = stopped.toSorted((a, b) => a.since - b.since);
  return first !== undefined && second !== undefined && second.since - first.since >= MARGIN_MS ? first : undefined;
}
