// How long a group takes to recover from the crash of one worker, by simulating it several times. The delays of nodes
// and of the API server are those of the model, so the result compares shapes and sizes; it measures no cluster.
import type { JobSet } from "../api/jobset.ts";
import type { JobSetShape } from "./shape.ts";
import { simulate } from "./simulate.ts";

export interface Forecast {
  readonly pods: number;
  readonly runs: number;
  /** Seconds from the crash until the last worker has started again. */
  readonly seconds: { readonly p50: number; readonly p90: number; readonly p99: number; readonly max: number };
}

/** Every group runs by then, also one whose stages start in turn. */
const SETTLED_MS = 120_000;

/** More than one crash needs. */
const AMPLE = 10;

/**
 * The stages that are in the group. Stages that others wait to complete are done by the time that these run, so they
 * are left out.
 */
export function shapeOf({
  replicatedJobs,
  startupOrder,
}: Pick<JobSet, "replicatedJobs" | "startupOrder">): JobSetShape {
  const done = new Set(
    replicatedJobs.flatMap(({ dependsOn }) =>
      dependsOn.filter(({ status }) => status === "Complete").map(({ name }) => name),
    ),
  );
  const stages = replicatedJobs
    .filter(({ name }) => !done.has(name))
    .map(({ name, replicas, parallelism, dependsOn }) => {
      return { name, replicas, parallelism, dependsOn: dependsOn.filter((each) => !done.has(each.name)) };
    });
  return { stages, inOrder: startupOrder === "InOrder", maxRestarts: AMPLE };
}

export function podsOf({ stages }: JobSetShape): number {
  return stages.reduce((pods, { replicas, parallelism }) => pods + replicas * parallelism, 0);
}

export function forecast(shape: JobSetShape, runs: number, seed: number): Forecast {
  const seconds = Array.from({ length: runs }, (_, run) => recoverySeconds(shape, seed + run)).sort((a, b) => a - b);
  const at = (share: number) => seconds[Math.min(seconds.length - 1, Math.ceil(share * seconds.length) - 1)] ?? 0;
  return { pods: podsOf(shape), runs, seconds: { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) } };
}

function recoverySeconds(shape: JobSetShape, seed: number): number {
  const fault = { kind: "kill-worker", at: SETTLED_MS } as const;
  const { moments, syncedEpoch, breaches } = simulate({ seed, shape, faults: [fault] });
  const started = moments.filter(({ at, what }) => at > fault.at && what === `worker starts in epoch ${syncedEpoch}`);
  const last = started.at(-1);
  if (last === undefined || breaches.length > 0)
    throw new Error(`seed ${seed}: ${breaches.join("; ") || "no restart"}`);
  return (last.at - fault.at) / 1_000;
}
