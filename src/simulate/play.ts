// Ready-made runs: one scenario as a timeline, and random ones as a check.
import { type Fault, randomFaults } from "./faults/catalog.ts";
import { Random } from "./random.ts";
import type { JobSetShape } from "./shape.ts";
import { type RunResult, simulate } from "./simulate.ts";

/** More than any run uses: a JobSet that fails for its budget would hide what comes after. */
const AMPLE = 1_000;

/** How many random runs have no budget at all: there a disruption must not fail the JobSet. */
const WITHOUT_BUDGET = 0.2;

interface ScenarioOptions {
  readonly seed: number;
  readonly pods: number;
  readonly faults: readonly Fault[];
  readonly maxRestarts?: number;
  readonly escalateAfter?: number;
  /** A group that hangs for so long restarts. */
  readonly hangAfterMs?: number;
}

/** Runs one group of equal workers. The moments of the result are the timeline. */
export function playScenario(options: ScenarioOptions): RunResult {
  const { seed, pods, faults, maxRestarts = AMPLE, escalateAfter } = options;
  // Without detection a hang would never end.
  const hangs = faults.some(({ kind }) => kind === "hang-worker" || kind === "pause-workers");
  const { hangAfterMs = hangs ? HANG_AFTER_MS : undefined } = options;
  const workers = { name: "workers", replicas: 1, parallelism: pods, dependsOn: [] };
  const policy = {
    maxRestarts,
    ...(escalateAfter === undefined ? {} : { escalateAfter }),
    ...(hangAfterMs === undefined ? {} : { hangAfterMs }),
  };
  return simulate({ seed, faults, shape: { stages: [workers], inOrder: false, ...policy } });
}

/** Runs a random group with random faults. The seed determines everything. */
export function playSeed(seed: number): RunResult {
  return simulate({ seed, shape: randomShape(seed), faults: randomFaults(seed, MOST_FAULTS) });
}

/** The same with requests for a restart by hand, some of them during a recovery and some given twice. */
export function playSeedWithRequests(seed: number): RunResult {
  const random = new Random(seed ^ 0x4ecf);
  const faults = randomFaults(seed, MOST_FAULTS);
  const requests = Array.from({ length: random.integer(1, 3) }, () => {
    const near = random.pick(faults)?.at ?? 0;
    return { kind: "request-restart", at: Math.max(100, near + random.between(-2_000, 6_000)) } as const;
  });
  return simulate({ seed, shape: randomShape(seed), faults: [...faults, ...requests] });
}

/** A limit that faults overlap with. */
const HANG_AFTER_MS = 20_000;

/** The same with workers that hang or pause, for about as long as they may. A group that hangs restarts. */
export function playSeedWithHangs(seed: number): RunResult {
  const random = new Random(seed ^ 0x4a46);
  const faults = randomFaults(seed, MOST_FAULTS);
  const hangs = Array.from({ length: random.integer(1, 3) }, () => {
    const near = random.pick(faults)?.at ?? 0;
    const kind = random.chance(0.5) ? "hang-worker" : "pause-workers";
    return { kind, at: Math.max(10_000, near + random.between(-HANG_AFTER_MS, 30_000)) } as const;
  });
  return simulate({ seed, shape: { ...randomShape(seed), hangAfterMs: HANG_AFTER_MS }, faults: [...faults, ...hangs] });
}

/** Enough for faults to overlap; more only lengthens the run. */
const MOST_FAULTS = 5;

function randomShape(seed: number): JobSetShape {
  const random = new Random(seed ^ 0x5a9e);
  const stage = (name: string, dependsOn: JobSetShape["stages"][number]["dependsOn"] = []) => {
    return { name, replicas: random.integer(1, 2), parallelism: random.integer(1, 2), dependsOn };
  };
  const hasBudget = !new Random(seed ^ 0xb0d9e7).chance(WITHOUT_BUDGET);
  const common = { inOrder: false, maxRestarts: hasBudget ? AMPLE : 0 };
  switch (random.integer(0, 4)) {
    case 0:
      return { ...common, inOrder: true, stages: [stage("driver"), stage("workers"), stage("evaluators")] };
    case 1: {
      const onDriver = [{ name: "driver", status: "Ready" }] as const;
      return { ...common, stages: [stage("driver"), stage("workers", onDriver), stage("evaluators", onDriver)] };
    }
    case 2:
      return { ...common, stages: [stage("workers"), stage("evaluators")] };
    default:
      return { ...common, stages: [stage("workers")] };
  }
}
