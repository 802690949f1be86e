// One run of a group through a series of faults, in virtual time: the real decisions of agents and controller, in a
// model of everything around them. The same seed and scenario give the same run.
import { Cluster } from "./cluster.ts";
import { LONGEST_OUTAGE_MS } from "./faults/api-outage.ts";
import { FAULTS, type Fault, type FaultKind } from "./faults/catalog.ts";
import { RETRY_MS } from "./faults/fault.ts";
import { NODE_LOSS_MS } from "./faults/lose-node.ts";
import { REMOVAL_MS } from "./faults/remove-reprise.ts";
import { JOB_SET, type JobSetShape } from "./shape.ts";
import type { Moment } from "./timeline.ts";

interface Scenario {
  readonly seed: number;
  readonly shape: JobSetShape;
  readonly faults: readonly Fault[];
}

export interface RunResult {
  readonly moments: readonly Moment[];
  /** Violations of the protocol; empty in a good run. */
  readonly breaches: readonly string[];
  readonly syncedEpoch: number;
  readonly restarts: number;
  readonly outcome: "Running" | "Completed" | "Failed";
}

/** By then every fault has begun to act, for example a JobSet is resumed or another controller has started. */
const AFTERMATH_MS = 45_000;

/** Time to settle after the last fault: node loss takes 80 s, and replacement Pods wait for up to 40 s each. */
const SETTLE_MS = 400_000;

export function simulate({ seed, shape, faults }: Scenario): RunResult {
  return new Run(seed, shape).play(faults);
}

class Run {
  readonly #cluster: Cluster;
  readonly #struck: FaultKind[] = [];
  #allStruck = false;

  constructor(seed: number, shape: JobSetShape) {
    this.#cluster = new Cluster(seed, shape);
  }

  play(faults: readonly Fault[]): RunResult {
    const { schedule, judge } = this.#cluster.world;
    for (const fault of faults) schedule.after(fault.at, () => this.#strike(fault));
    const last = Math.max(0, ...faults.map(({ at }) => at));
    const strikes = (asked: FaultKind) => faults.some(({ kind }) => kind === asked);
    // Requests made during an outage happen after it.
    const outage = strikes("api-outage") ? LONGEST_OUTAGE_MS : 0;
    const removal = strikes("remove-reprise") ? REMOVAL_MS : 0;
    schedule.after(last + outage + removal + (strikes("lose-node") ? NODE_LOSS_MS : AFTERMATH_MS), () => {
      this.#allStruck = true;
    });
    const isOver = () => judge.breaches.length > 0 || (this.#allStruck && this.#unsettled() === "");
    schedule.runUntil(last + outage + SETTLE_MS, isOver);
    return this.#result();
  }

  #strike(fault: Fault): void {
    const { world } = this.#cluster;
    const { kind } = fault;
    if (world.api.isDown && FAULTS[kind].byRequest) {
      world.schedule.after(RETRY_MS, () => this.#strike(fault));
      return;
    }
    world.tell("FAULT", kind);
    this.#struck.push(kind);
    FAULTS[kind].strike(this.#cluster);
  }

  #result(): RunResult {
    const { world, jobSets } = this.#cluster;
    const breaches = [...world.judge.breaches, ...world.failures.breaches];
    const unsettled = this.#unsettled();
    if (breaches.length === 0 && unsettled !== "") breaches.push(`the group did not come back: ${unsettled}`);
    const status = world.api.get("object", JOB_SET)?.status;
    const restarts = status?.restarts ?? 0;
    const countable = this.#countable();
    if (restarts > countable) breaches.push(`${restarts} restarts counted for ${countable} failures`);
    const outcome = jobSets.jobSet?.outcome ?? "none";
    const [final] = world.finalExits;
    if (final !== undefined && outcome !== "Failed") breaches.push(`${final} failed for good, and the JobSet did not`);
    return {
      moments: world.moments,
      breaches,
      syncedEpoch: status?.syncedEpoch ?? 0,
      restarts,
      outcome: outcome === "none" ? "Running" : outcome,
    };
  }

  /** The most restarts that may be counted. */
  #countable(): number {
    const struck = new Set(this.#struck);
    if (this.#struck.some((kind) => FAULTS[kind].lasts === true)) return Number.POSITIVE_INFINITY;
    return this.#struck.filter((kind) => FAULTS[kind].mayCount(struck)).length;
  }

  /** What keeps the group from running in one epoch; empty when nothing does. */
  #unsettled(): string {
    const { world, jobSets } = this.#cluster;
    const { api, judge } = world;
    if (jobSets.jobSet?.outcome !== "none") return "";
    const done = api.list("job").reduce((sum, { succeeded }) => sum + succeeded, 0);
    const { running } = judge;
    const stranded = `${running.length} workers run, ${done} are done`;
    if (world.isRemoved) return running.length + done < jobSets.slots ? stranded : "";
    const status = api.get("object", JOB_SET)?.status;
    if (status === undefined) return "no InPlaceRestart";
    if (status.deprecatedEpoch >= status.syncedEpoch) return "between two epochs";
    const unanswered = judge.requests.unanswered(jobSets.jobSet.uid, status);
    if (unanswered !== undefined) return `nothing answered the request ${unanswered}`;
    if (status.heldStages.length > 0) return `${status.heldStages.join(", ")} held`;
    if (running.length + done < jobSets.slots) return stranded;
    if (world.training.hung !== undefined) return `${world.training.hung} hangs`;
    if (running.some(({ epoch }) => epoch !== status.syncedEpoch)) return "a worker runs in another epoch";
    return status.phase === "Running" ? "" : `phase is ${status.phase}`;
  }
}
