// One run of a group through a series of faults, in virtual time: the real decisions of agent and controller in a model of
// everything around them. The same seed and scenario give the same run.
import { ControllerProcess } from "./controller-process.ts";
import type { Fault, FaultKind } from "./faults.ts";
import type { PodOnNode } from "./kubelet.ts";
import type { Moment } from "./timeline.ts";
import { JOB_SET, type JobSetShape, Workload } from "./workload.ts";
import { World } from "./world.ts";

export interface Scenario {
  readonly seed: number;
  readonly shape: JobSetShape;
  readonly faults: readonly Fault[];
}

export interface RunResult {
  readonly moments: readonly Moment[];
  /** What went against the protocol; empty in a good run. */
  readonly breaches: readonly string[];
  readonly syncedEpoch: number;
  readonly restarts: number;
  readonly outcome: "Running" | "Completed" | "Failed";
}

/** After the last fault a node may take 50 s to be missed and its Pods 30 s more to be freed; replacements wait 40 s. */
const CALM_MS = 400_000;

export function simulate({ seed, shape, faults }: Scenario): RunResult {
  return new Run(seed, shape).play(faults);
}

class Run {
  readonly #world: World;
  readonly #workload: Workload;
  #controller: ControllerProcess;
  #controllers = 1;
  #calm = false;
  readonly #struck: FaultKind[] = [];

  constructor(seed: number, shape: JobSetShape) {
    this.#world = new World(seed);
    this.#workload = new Workload(this.#world, shape);
    this.#workload.lookAgain();
    this.#controller = new ControllerProcess(this.#world, this.#workload, "controller-1");
  }

  play(faults: readonly Fault[]): RunResult {
    for (const fault of faults) this.#world.schedule.after(fault.at, () => this.#strike(fault));
    const last = Math.max(0, ...faults.map(({ at }) => at));
    const stop = () => this.#world.judge.breaches.length > 0 || (this.#calm && this.#isSettled());
    const strikes = (asked: FaultKind) => faults.some(({ kind }) => kind === asked);
    // What is asked for during an outage happens after it.
    const outage = strikes("api-outage") ? OUTAGES.longMs[1] : 0;
    const aftermath = outage + (strikes("lose-node") ? NODE_LOSS_MS : AFTERMATH_MS);
    this.#world.schedule.after(last + aftermath, () => {
      this.#calm = true;
    });
    this.#world.schedule.runUntil(last + outage + CALM_MS, stop);
    return this.#result();
  }

  #result(): RunResult {
    const breaches = [...this.#world.judge.breaches];
    if (breaches.length === 0 && !this.#isSettled()) breaches.push(`the group did not come back: ${this.#unsettled()}`);
    const status = this.#world.api.get("object", JOB_SET)?.status;
    const restarts = status?.restarts ?? 0;
    if (restarts > this.#countable()) breaches.push(`${restarts} restarts counted for ${this.#countable()} failures`);
    const outcome = this.#workload.jobSet?.outcome ?? "none";
    return {
      moments: this.#world.moments,
      breaches,
      syncedEpoch: status?.syncedEpoch ?? 0,
      restarts,
      outcome: outcome === "none" ? "Running" : outcome,
    };
  }

  /** Faults that are the job's own, each good for one counted restart at most. */
  #countable(): number {
    // A suspension that becomes visible only after the group is back cannot be told from deletions.
    const isBlind = this.#struck.includes("slow-watches");
    return this.#struck.filter((kind) => COUNTABLE.has(kind) || (isBlind && kind === "suspend")).length;
  }

  #isSettled(): boolean {
    return this.#unsettled() === "";
  }

  /** What is still missing for a group in good order. */
  #unsettled(): string {
    const { api, judge } = this.#world;
    if (this.#workload.jobSet?.outcome !== "none") return "";
    const status = api.get("object", JOB_SET)?.status;
    if (status === undefined) return "no InPlaceRestart";
    if (status.deprecatedEpoch >= status.syncedEpoch) return "between two epochs";
    if (status.heldStages.length > 0) return `${status.heldStages.join(", ")} held`;
    const done = api.list("job").reduce((sum, { succeeded }) => sum + succeeded, 0);
    const { running } = judge;
    if (running.length + done < this.#workload.slots) return `${running.length} workers run, ${done} are done`;
    if (running.some(({ epoch }) => epoch !== status.syncedEpoch)) return "a worker runs in another epoch";
    return status.phase === "Running" ? "" : `phase is ${status.phase}`;
  }

  #strike(fault: Fault): void {
    const { api, random } = this.#world;
    const { kind } = fault;
    // Nobody can ask for anything while there is no API server.
    if (api.isDown && BY_REQUEST.has(kind)) {
      this.#world.schedule.after(RETRY_MS, () => this.#strike(fault));
      return;
    }
    this.#world.tell("FAULT", kind);
    this.#struck.push(kind);
    switch (kind) {
      case "kill-worker":
        this.#victim((pod) => pod.hasWorker)?.endWorker(1);
        return;
      case "finish-worker":
        this.#victim((pod) => pod.hasWorker)?.endWorker(0);
        return;
      case "kill-agent":
        this.#victim(() => true)?.killAgent();
        return;
      case "kill-both": {
        const pod = this.#victim((each) => each.hasWorker);
        pod?.endWorker(137);
        pod?.killAgent();
        return;
      }
      case "delete-pod":
        this.#deletePod({ disrupted: false, forced: false });
        return;
      case "force-delete-pod":
        this.#deletePod({ disrupted: false, forced: true });
        return;
      case "evict-pod":
        this.#deletePod({ disrupted: true, forced: false });
        return;
      case "delete-job":
        this.#workload.deleteJob();
        return;
      case "lose-node":
        this.#workload.loseNode(random.pick(["node-0", "node-1", "node-2"]) ?? "");
        return;
      case "kill-controller":
        this.#replaceController(0);
        return;
      case "second-leader":
        this.#replaceController(random.between(500, 8_000));
        return;
      case "api-outage":
        api.breakFor(outageMs(random.next()));
        return;
      case "slow-watches":
        api.slowDownFor(random.between(2_000, 20_000));
        return;
      case "lose-object":
        api.delete("object", JOB_SET);
        return;
      case "suspend":
        this.#workload.suspend(true);
        this.#world.after(10, random.chance(0.3) ? 300 : 15_000, () => this.#resume());
        return;
      case "recreate-jobset":
        this.#workload.recreate();
        return;
    }
  }

  #resume(): void {
    if (this.#world.api.isDown) this.#world.schedule.after(RETRY_MS, () => this.#resume());
    else this.#workload.suspend(false);
  }

  #victim(suits: (pod: PodOnNode) => boolean): PodOnNode | undefined {
    return this.#world.random.pick(this.#workload.pods.filter(suits));
  }

  #deletePod(how: { readonly disrupted: boolean; readonly forced: boolean }): void {
    const pod = this.#victim(() => true);
    const uid = pod === undefined ? undefined : this.#workload.uidOf(pod);
    if (uid === undefined) return;
    this.#world.tell(pod?.name ?? "", how.forced ? "is deleted by force" : how.disrupted ? "is evicted" : "is deleted");
    this.#workload.deletePod(uid, how);
  }

  /** The old one goes on for a while, as one does that has not noticed the loss of its lease. */
  #replaceController(overlapMs: number): void {
    const old = this.#controller;
    this.#controllers += 1;
    const name = `controller-${this.#controllers}`;
    if (overlapMs === 0) {
      old.kill();
      this.#world.after(500, 6_000, () => {
        this.#controller = new ControllerProcess(this.#world, this.#workload, name);
      });
      return;
    }
    this.#controller = new ControllerProcess(this.#world, this.#workload, name);
    this.#world.schedule.after(overlapMs, () => old.kill());
  }
}

const COUNTABLE: ReadonlySet<FaultKind> = new Set([
  "kill-worker",
  "kill-agent",
  "kill-both",
  "delete-pod",
  "force-delete-pod",
  // Its peers fail first, and the restart is only excused if the loss of the node is noticed before the group is back.
  "lose-node",
]);

const BY_REQUEST: ReadonlySet<FaultKind> = new Set([
  "delete-pod",
  "force-delete-pod",
  "evict-pod",
  "delete-job",
  "lose-object",
  "suspend",
  "recreate-jobset",
]);

/** Most are over before anybody at a barrier loses patience; during the others Pods start anew there. */
const OUTAGES = { long: 0.3, shortMs: [1_000, 20_000], longMs: [60_000, 180_000] } as const;

/** From one draw. */
function outageMs(chance: number): number {
  const { long, shortMs, longMs } = OUTAGES;
  const isLong = chance < long;
  const [least, most] = isLong ? longMs : shortMs;
  return least + (most - least) * (isLong ? chance / long : (chance - long) / (1 - long));
}

/** How soon somebody tries again who finds no API server. */
const RETRY_MS = 1_000;

/** What a fault sets in motion has begun by then, counted from the end of an outage: a JobSet resumed, another controller started. */
const AFTERMATH_MS = 45_000;

/** A lost node is missed and its Pods are freed much later. */
const NODE_LOSS_MS = 85_000;
