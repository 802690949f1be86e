// All kinds of faults by name, how a user writes them (kill-worker@5s), and random series of them.
import { parseDuration } from "../../api/duration.ts";
import { Random } from "../random.ts";
import { apiOutage } from "./api-outage.ts";
import { crashTogether } from "./crash-together.ts";
import { deleteJob } from "./delete-job.ts";
import { deletePod, evictPod, forceDeletePod } from "./delete-pod.ts";
import type { FaultDefinition } from "./fault.ts";
import { fillSharedMemory } from "./fill-shared-memory.ts";
import { hangWorker, pauseWorkers } from "./hang-workers.ts";
import { exitFinally, finishWorker, killAgent, killBoth, killWorker } from "./kill-containers.ts";
import { loseNode } from "./lose-node.ts";
import { loseObject } from "./lose-object.ts";
import { recreateJobSet } from "./recreate-jobset.ts";
import { removeReprise } from "./remove-reprise.ts";
import { killController, secondLeader } from "./replace-controller.ts";
import { requestRestart } from "./request-restart.ts";
import { slowWatches } from "./slow-watches.ts";
import { suspend } from "./suspend.ts";

/** Random runs pick by position: a new kind in the middle changes what every seed stands for. */
export const FAULTS = {
  "kill-worker": killWorker,
  "kill-agent": killAgent,
  "kill-both": killBoth,
  "delete-pod": deletePod,
  "force-delete-pod": forceDeletePod,
  "evict-pod": evictPod,
  "delete-job": deleteJob,
  "lose-node": loseNode,
  "finish-worker": finishWorker,
  "kill-controller": killController,
  "second-leader": secondLeader,
  "api-outage": apiOutage,
  "slow-watches": slowWatches,
  "lose-object": loseObject,
  suspend,
  "recreate-jobset": recreateJobSet,
  "crash-together": crashTogether,
  "exit-final": exitFinally,
  "fill-shared-memory": fillSharedMemory,
  "remove-reprise": removeReprise,
  "request-restart": requestRestart,
  "hang-worker": hangWorker,
  "pause-workers": pauseWorkers,
} as const satisfies Readonly<Record<string, FaultDefinition>>;

export type FaultKind = keyof typeof FAULTS;

export interface Fault {
  readonly kind: FaultKind;
  /** Milliseconds since the start of the run. */
  readonly at: number;
}

function isFaultKind(text: string): text is FaultKind {
  return Object.hasOwn(FAULTS, text);
}

/** Reads "kill-worker@5s"; undefined when the text does not have that form. */
export function parseFault(text: string): Fault | undefined {
  const [kind, time, ...rest] = text.split("@");
  const at = time === undefined ? undefined : parseDuration(time);
  if (kind === undefined || at === undefined || rest.length > 0 || !isFaultKind(kind)) return undefined;
  return { kind, at };
}

/**
 * They need a JobSet of a certain shape, or nothing can follow them. Requests by hand and hangs are played beside the
 * random faults, so that known seeds stand for what they stood for.
 */
const NOT_RANDOM: ReadonlySet<FaultKind> = new Set([
  "exit-final",
  "fill-shared-memory",
  "remove-reprise",
  "request-restart",
  "hang-worker",
  "pause-workers",
]);

const KINDS = Object.keys(FAULTS)
  .filter(isFaultKind)
  .filter((kind) => !NOT_RANDOM.has(kind));

/** The faults of one seed: some far apart, some during the recovery from the one before. */
export function randomFaults(seed: number, most: number): readonly Fault[] {
  const random = new Random(seed ^ 0x5eed);
  const faults: Fault[] = [];
  let at = random.between(100, 15_000);
  for (let count = random.integer(1, most); count > 0; count -= 1) {
    const kind = random.pick(KINDS);
    if (kind !== undefined) faults.push({ kind, at });
    at += random.chance(0.5) ? random.between(0, 4_000) : random.between(4_000, 40_000);
  }
  return faults;
}
