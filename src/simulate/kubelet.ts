// One Pod on its node, as the kubelet runs it: restart rules, the relist that notices exits late, and a status that reaches
// the API server later still. A status that is not sent yet is replaced by the next one, as the kubelet does it.

import { GATE_TIMEOUT_SECONDS } from "../../agent/barrier/gate-socket.ts";
import { RECHECK_MS } from "../../agent/barrier/watchdog.ts";
import type { ContainerState, Pod } from "../api/pod.ts";
import { AgentProcess } from "./agent-process.ts";
import { type PodStatus, podStatus, withStatus } from "./pod-status.ts";
import type { World } from "./world.ts";

/** The kubelet looks for exited containers once a second. */
const RELIST_MS = 1_000;

/** The kubelet deletes the object, and first reports the final status if that is still to be sent. */
type Ended = (unsent: PodStatus | undefined) => void;

export class PodOnNode {
  readonly #world: World;
  readonly #uid: string;
  readonly #name: string;
  readonly #jobSet: { readonly name: string; readonly uid: string };
  readonly #stage: string;
  readonly #slot: string;
  #agent: AgentProcess | undefined;
  #worker: { readonly id: string } | undefined;
  #incarnation = 0;
  #restarts = 0;
  /** The kubelet waits for the gate: it neither reports nor ends anything of the Pod. */
  #atBarrier = false;
  /** In the shared memory of the Pod's sandbox, which a restart in place leaves alone. */
  #kept: number | undefined;
  /** What it does when the gate has ended. */
  #afterGate: (() => void) | undefined;
  /** A restart of all containers, or the end of the Pod, is under way. */
  #changing = false;
  #gone = false;
  #unsent: PodStatus | undefined;

  constructor(world: World, pod: Pod, slot: string) {
    this.#world = world;
    this.#uid = pod.uid;
    this.#name = pod.name;
    this.#jobSet = { name: pod.jobSetName, uid: pod.jobSetUid };
    this.#stage = pod.replicatedJob;
    this.#slot = slot;
    // Scheduling, the sandbox, the volumes.
    world.after(200, 2_000, () => this.#start());
  }

  get name(): string {
    return this.#name;
  }

  get hasWorker(): boolean {
    return this.#worker !== undefined;
  }

  /** The worker's process ends by itself, or is killed. */
  endWorker(exitCode: number): void {
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#stopWorker();
    this.#world.tell(this.#name, `worker exits with ${exitCode}`);
    this.#atRelist(() => {
      if (this.#changing) return;
      if (exitCode === 0) this.#succeed(worker.id);
      else this.#restartAll({ kind: "terminated", exitCode, reason: "Error" }, worker.id);
    });
  }

  /** The agent's process is killed. */
  killAgent(): void {
    if (this.#agent === undefined) return;
    this.#world.tell(this.#name, "agent is killed");
    this.#stopAgent();
    this.#atRelist(() => this.#restartAll());
  }

  /** The API server wants the Pod gone: processes get a short grace, then the Pod has failed. */
  terminate(ended: Ended): void {
    if (this.#gone) return;
    this.#changing = true;
    if (!this.#atBarrier) {
      this.#end(ended);
      return;
    }
    this.#afterGate = () => this.#end(ended);
    // At the latest when the agent notices that its Pod is deleted.
    this.#world.after(RECHECK_MS.first / 2, RECHECK_MS.max, () => this.#stopAgent());
  }

  #end(ended: Ended): void {
    this.#world.after(50, 2_000, () => {
      if (this.#gone) return;
      const worker = this.#worker;
      this.#stopWorker();
      this.#stopAgent();
      const state: ContainerState = { kind: "terminated", exitCode: 137, reason: "Error" };
      this.#report("Failed", undefined, worker === undefined ? { kind: "waiting", reason: "" } : state, worker?.id);
      this.#world.after(50, 500, () => ended(this.#unsent));
    });
  }

  /** The node loses power, or the object is gone: nothing of it runs or reports any more. */
  vanish(): void {
    this.#gone = true;
    this.#stopWorker();
    this.#stopAgent();
  }

  #start(): void {
    if (this.#gone || this.#world.api.get("pod", this.#uid)?.deletion !== undefined) return;
    this.#changing = false;
    this.#incarnation += 1;
    this.#atBarrier = true;
    const { api } = this.#world;
    this.#agent = new AgentProcess(this.#world, {
      pod: this.#name,
      jobSetName: this.#jobSet.name,
      jobSetUid: this.#jobSet.uid,
      replicatedJob: this.#stage,
      kept: this.#kept,
      keep: (epoch) => {
        this.#kept = epoch;
      },
      publish: (epoch) => {
        const pod = api.get("pod", this.#uid);
        if (pod === undefined) return false;
        this.#world.tell(this.#name, `agent takes epoch ${epoch}`);
        this.#world.judge.slotReached(this.#jobSet.uid, this.#slot, epoch);
        api.set("pod", this.#uid, { ...pod, epoch: { kind: "present", epoch }, resourceVersion: api.nextVersion() });
        return true;
      },
      lifted: (epoch) => {
        this.#kept = undefined;
        this.#report("Pending", { kind: "running" }, { kind: "waiting", reason: "PodInitializing" });
        this.#startWorker(epoch, this.#incarnation);
        this.#leaveBarrier();
      },
      exited: () => {
        this.#stopAgent();
        this.#atRelist(() => this.#restartAll());
      },
    });
    this.#waitAtGate(this.#incarnation, this.#world.schedule.now);
  }

  /** The gate fails when the agent could not reach the API server for as long as it waits without a word, and the Pod starts anew. */
  #waitAtGate(incarnation: number, lastWord: number): void {
    this.#world.schedule.after(RECHECK_MS.max, () => {
      if (this.#gone || incarnation !== this.#incarnation || !this.#atBarrier) return;
      const { now } = this.#world.schedule;
      const heard = this.#world.api.isDown ? lastWord : now;
      if (now - heard < GATE_TIMEOUT_SECONDS * 1_000) {
        this.#waitAtGate(incarnation, heard);
        return;
      }
      this.#world.tell(this.#name, "gate gives up, and the agent with it");
      this.#stopAgent();
      this.#atRelist(() => this.#restartAll());
    });
  }

  #leaveBarrier(): void {
    this.#atBarrier = false;
    this.#afterGate?.();
    this.#afterGate = undefined;
  }

  /** The gate ends, and the kubelet, which waited for it, creates the container. */
  #startWorker(epoch: number, incarnation: number): void {
    this.#world.after(100, 900, () => {
      if (this.#gone || this.#changing || incarnation !== this.#incarnation || this.#agent === undefined) return;
      const id = `${this.#uid}-worker-${incarnation}`;
      this.#worker = { id };
      this.#world.tell(this.#name, `worker starts in epoch ${epoch}`);
      this.#world.judge.workerStarted(this.#uid, {
        pod: this.#name,
        jobSetUid: this.#jobSet.uid,
        stage: this.#stage,
        epoch,
      });
      this.#report("Running", { kind: "running" }, { kind: "running" }, id);
    });
  }

  #atRelist(notice: () => void): void {
    const incarnation = this.#incarnation;
    this.#world.after(0, RELIST_MS, () => {
      // An exit that another one's restart has already removed is not seen any more.
      if (!this.#gone && incarnation === this.#incarnation) notice();
    });
  }

  /** Kills what is left, removes all containers and starts anew. The exit that caused it shows only for a moment. */
  #restartAll(worker?: ContainerState, id?: string): void {
    if (this.#changing || this.#gone) return;
    this.#changing = true;
    if (worker !== undefined) this.#report("Running", { kind: "running" }, worker, id);
    this.#world.after(20, 2_000, () => {
      if (this.#gone) return;
      this.#stopWorker();
      this.#stopAgent();
      this.#restarts += 1;
      const waiting: ContainerState = { kind: "waiting", reason: "RestartingAllContainers" };
      this.#report("Running", waiting, waiting);
      this.#world.after(50, 600, () => this.#start());
    });
  }

  #succeed(id: string): void {
    this.#changing = true;
    this.#stopAgent();
    this.#world.judge.slotReached(this.#jobSet.uid, this.#slot, Number.POSITIVE_INFINITY);
    this.#report("Succeeded", undefined, { kind: "terminated", exitCode: 0, reason: "Completed" }, id);
  }

  #stopWorker(): void {
    if (this.#worker !== undefined) this.#world.judge.workerEnded(this.#uid);
    this.#worker = undefined;
  }

  #stopAgent(): void {
    this.#agent?.end();
    this.#agent = undefined;
    this.#leaveBarrier();
  }

  #report(phase: Pod["phase"], agent: ContainerState | undefined, worker: ContainerState, workerId?: string): void {
    const waits = this.#unsent !== undefined;
    this.#unsent = podStatus(phase, {
      agent: agent ?? { kind: "unknown" },
      agentId: `${this.#uid}-agent-${this.#incarnation}`,
      worker,
      workerId,
      restarts: this.#restarts,
    });
    // Usually at once; now and then a busy kubelet takes long enough for a whole restart to pass.
    const most = this.#world.random.chance(0.15) ? 5_000 : 100;
    if (!waits) this.#world.after(5, most, () => this.#send());
  }

  #send(): void {
    const { api } = this.#world;
    if (this.#gone) return;
    api.request(
      () => {
        const pod = api.get("pod", this.#uid);
        const status = this.#unsent;
        this.#unsent = undefined;
        if (pod === undefined || status === undefined) return "not-found";
        api.set("pod", this.#uid, { ...withStatus(pod, status), resourceVersion: api.nextVersion() });
        return "sent";
      },
      (answer) => {
        if (answer === "unreachable" && !this.#gone) this.#world.after(200, 1_000, () => this.#send());
      },
    );
  }
}
