// One Pod as its kubelet runs it: restart rules, and the relist that notices exits late.
import type { Removal } from "../../agent/decide-removed.ts";
import type { ContainerState, Pod } from "../api/pod.ts";
import { AgentProcess } from "./agent-process.ts";
import { MonitorProcess } from "./monitor-process.ts";
import { nodeTime } from "./node-clock.ts";
import { type PodStatus, podStatus, RESTART_EXIT_CODE } from "./pod-status.ts";
import { StatusReporter } from "./status-reporter.ts";
import type { World } from "./world.ts";

/** The kubelet checks for exited containers once a second. */
const RELIST_MS = 1_000;

/** From the lifted barrier to the worker: a startup probe and a relist, up to 1 s each, and the container's start. */
const WORKER_START_MS = [100, 2_900] as const;

/** terminationGracePeriodSeconds of every Pod. */
export const GRACE_MS = 10_000;

/** How long a worker takes to save its work when it gets SIGTERM. Some need longer than they are given. */
const SAVE_MS = [50, 12_000] as const;

/** How often an initContainer of the user fails once. Its kubelet retries it alone. */
const INIT_FAILS = 0.1;
const INIT_RETRY_MS = [500, 5_000] as const;

/** What a run leaves in shared memory that a worker cannot do without. */
const LEFT_BYTES = 60 * 2 ** 20;

/** How often the kubelet removes the exited containers before it has reported how they ended. */
const EXIT_UNREPORTED = 0.3;

/** The kubelet deletes the object, and first reports the final status if that is still to be sent. */
type Ended = (unsent: PodStatus | undefined) => void;

const SAVED = "worker has saved its work and exits with 143";

export class PodOnNode {
  readonly #world: World;
  readonly #uid: string;
  readonly #name: string;
  readonly #jobSet: { readonly name: string; readonly uid: string };
  readonly #stage: string;
  readonly #slot: string;
  #agent: AgentProcess | undefined;
  #monitor: MonitorProcess | undefined;
  #worker: { readonly id: string; readonly epoch: number } | undefined;
  /** The end of the worker, until the kubelet removes its container. */
  #exit: { readonly state: ContainerState; readonly id: string } | undefined;
  /** The end of the agent, until then. */
  #agentExit: ContainerState | undefined;
  /** The run that ended with 0, until the kubelet removes its container. */
  #succeeded: string | undefined;
  readonly #node: Pod["node"];
  #incarnation = 0;
  #restarts = 0;
  /** The epoch for which the barrier was lifted in this run: the worker runs, or is about to. */
  #lifted: number | undefined;
  /** What earlier runs have left in shared memory. Only a new Pod is rid of it. */
  #leftBytes = 0;
  /** What the agents of this Pod know about the removal of reprise. */
  #removal: Removal | undefined;
  /** A restart of all containers or the termination of the Pod is in progress. */
  #changing = false;
  #gone = false;
  readonly #reporter: StatusReporter;

  constructor(world: World, pod: Pod, slot: string) {
    this.#world = world;
    this.#uid = pod.uid;
    this.#reporter = new StatusReporter(world, pod.uid);
    this.#name = pod.name;
    this.#node = pod.node;
    this.#jobSet = { name: pod.jobSetName, uid: pod.jobSetUid };
    this.#stage = pod.replicatedJob;
    this.#slot = slot;
    // Time for scheduling, the sandbox and the volumes.
    world.after(200, 2_000, () => this.#start());
  }

  get name(): string {
    return this.#name;
  }

  get hasWorker(): boolean {
    return this.#worker !== undefined;
  }

  /** The worker's process exits. */
  endWorker(exitCode: number): void {
    const worker = this.#worker;
    if (worker === undefined) return;
    if (exitCode !== 0) this.#fail();
    this.#stopWorker();
    this.#world.tell(this.#name, `worker exits with ${exitCode}`);
    if (exitCode === 0) this.#succeeded = worker.id;
    if (exitCode !== 0) {
      this.#noteFailure(worker.epoch);
      this.#exit = { state: { kind: "terminated", exitCode, reason: "Error", finishedAt: this.#time }, id: worker.id };
    }
    this.#atRelist(() => {
      if (this.#changing) return;
      if (exitCode === 0) this.#succeed(worker.id);
      else this.#restartAll();
    });
  }

  /** The worker makes no progress for `ms`. False if none is known to make any. */
  stick(ms: number): boolean {
    return this.#world.training.stick(this.#uid, ms);
  }

  /** The worker has left so much in shared memory that no later one finds room, and fails. */
  fillSharedMemory(): void {
    this.#leftBytes = LEFT_BYTES;
    this.endWorker(1);
  }

  /** The worker notices that a peer has left, and fails. */
  losePeer(): void {
    const worker = this.#worker;
    this.#world.after(10, 2_000, () => {
      if (worker !== undefined && worker === this.#worker) this.endWorker(1);
    });
  }

  /** The agent's process is killed. */
  killAgent(): void {
    if (this.#agent === undefined) return;
    this.#world.tell(this.#name, "agent is killed");
    this.#fail();
    const { api } = this.#world;
    const reached = api.get("pod", this.#uid)?.epoch;
    if (reached?.kind === "present") this.#failIn(reached.epoch);
    // The epoch may run before the agent has heard of it.
    const synced = api.get("object", this.#jobSet.name)?.status?.syncedEpoch;
    const runs = reached?.kind === "present" && reached.epoch === synced ? synced : undefined;
    const epoch = this.#lifted ?? runs;
    if (epoch !== undefined) this.#noteFailure(epoch);
    this.#endAgent(137);
    this.#atRelist(() => this.#restartAll());
  }

  /** The Pod was deleted: its worker gets SIGTERM and the grace period, its other containers end, and it fails. */
  terminate(workerLost: () => void, ended: Ended): void {
    if (this.#gone) return;
    this.#changing = true;
    const { judge, random, schedule } = this.#world;
    const saveMs = this.#worker === undefined ? 0 : random.between(...SAVE_MS);
    judge.saveBegan(this.#uid, this.#world.visibleAt);
    schedule.after(Math.min(saveMs, GRACE_MS), () => {
      if (this.#gone) return;
      const worker = this.#worker;
      if (worker !== undefined) {
        this.#world.tell(this.#name, saveMs > GRACE_MS ? "worker is killed, its grace period is over" : SAVED);
        workerLost();
      }
      judge.saveEnded(this.#uid);
      this.#leave();
      this.#stopWorker();
      this.#stopAgent();
      const state: ContainerState = { kind: "terminated", exitCode: 137, reason: "Error" };
      if (this.#succeeded !== undefined) this.#succeed(this.#succeeded);
      else
        this.#report("Failed", undefined, worker === undefined ? { kind: "waiting", reason: "" } : state, worker?.id);
      this.#world.after(50, 500, () => ended(this.#reporter.unsent));
    });
  }

  /** The node lost power, or the object is gone: containers stop, and nothing is reported. */
  vanish(): void {
    this.#gone = true;
    this.#leave();
    this.#reporter.stop();
    this.#stopWorker();
    this.#stopAgent();
  }

  #start(): void {
    if (this.#gone || this.#world.api.get("pod", this.#uid)?.deletion !== undefined) return;
    this.#changing = false;
    this.#exit = undefined;
    this.#agentExit = undefined;
    this.#incarnation += 1;
    this.#lifted = undefined;
    const { api } = this.#world;
    const incarnation = this.#incarnation;
    this.#agent = new AgentProcess(this.#world, {
      pod: this.#name,
      jobSetUid: this.#jobSet.uid,
      replicatedJob: this.#stage,
      publish: (epoch) => {
        const pod = api.get("pod", this.#uid);
        if (pod === undefined) return false;
        this.#world.tell(this.#name, `agent takes epoch ${epoch}`);
        this.#world.judge.slotReached(this.#jobSet.uid, this.#slot, epoch);
        // The agent was killed while its request was on the way.
        if (this.#agent === undefined || incarnation !== this.#incarnation) this.#failIn(epoch);
        const left = this.#leftBytes === 0 ? {} : { shmLeftoverBytes: this.#leftBytes };
        const resourceVersion = api.nextVersion();
        const { hang: _, ...unjudged } = pod;
        api.set("pod", this.#uid, { ...unjudged, ...left, epoch: { kind: "present", epoch }, resourceVersion });
        return true;
      },
      lifted: (epoch, isAlone) => {
        this.#lifted = epoch;
        if (!isAlone) this.#watchProgress(epoch);
        this.#startWorker(epoch, this.#incarnation, isAlone);
      },
      removal: () => this.#removal,
      noteRemoval: (removal) => {
        this.#removal = removal;
      },
      exited: () => {
        this.#endAgent(RESTART_EXIT_CODE);
        this.#atRelist(() => this.#restartAll());
      },
    });
    this.#report("Pending", { kind: "running" }, { kind: "waiting", reason: "PodInitializing" });
  }

  /** The startup probe succeeds. The kubelet may not have noticed yet that the agent has exited meanwhile. */
  #startWorker(epoch: number, incarnation: number, isAlone: boolean): void {
    const [least, most] = WORKER_START_MS;
    const retryMs = this.#failInit();
    this.#world.after(least + retryMs, most + retryMs, () => {
      if (this.#gone || this.#changing || incarnation !== this.#incarnation) return;
      const id = `${this.#uid}-worker-${incarnation}`;
      this.#worker = { id, epoch };
      this.#world.training.started(this.#uid, this.#name, epoch);
      this.#world.tell(this.#name, `worker starts in epoch ${epoch}`);
      const worker = { pod: this.#name, jobSetUid: this.#jobSet.uid, stage: this.#stage, epoch };
      if (isAlone) this.#world.judge.workerStartedAlone(this.#uid, worker);
      else this.#world.judge.workerStarted(this.#uid, worker);
      this.#report("Running", { kind: "running" }, { kind: "running" }, id);
      // Without room it soon fails, as a worker does that has lost a peer.
      if (this.#leftBytes > 0) this.losePeer();
    });
  }

  /** Also before the worker starts, as the agent does. */
  #watchProgress(epoch: number): void {
    const { api, training } = this.#world;
    if (training.hangAfterMs === undefined) return;
    this.#monitor = new MonitorProcess(this.#world, {
      epoch,
      look: () => training.look(this.#uid),
      report: (report) => {
        const stored = api.get("pod", this.#uid);
        if (stored === undefined) return false;
        const { hang: _, ...pod } = stored;
        this.#world.tell(this.#name, `agent reports ${report?.state ?? "progress"} in epoch ${epoch}`);
        const hang = report === undefined ? {} : { hang: report };
        api.set("pod", this.#uid, { ...pod, ...hang, resourceVersion: api.nextVersion() });
        return true;
      },
    });
  }

  /** Returns how long the kubelet retries an initContainer before it goes on, in milliseconds. */
  #failInit(): number {
    const { random } = this.#world;
    if (!random.chance(INIT_FAILS)) return 0;
    this.#world.tell(this.#name, "an initContainer fails, and its kubelet retries it");
    const init: ContainerState = { kind: "terminated", exitCode: 1, reason: "Error", finishedAt: this.#time };
    this.#report("Pending", { kind: "running" }, { kind: "waiting", reason: "PodInitializing" }, undefined, init);
    return random.between(...INIT_RETRY_MS);
  }

  #atRelist(notice: () => void): void {
    const incarnation = this.#incarnation;
    this.#world.after(0, RELIST_MS, () => {
      // A restart that came first has removed the exited container.
      if (!this.#gone && incarnation === this.#incarnation) notice();
    });
  }

  /** RestartAllContainers. The exit that caused it is visible only for a moment. */
  #restartAll(): void {
    if (this.#changing || this.#gone) return;
    this.#changing = true;
    if (this.#exit !== undefined && this.#isFinal(this.#exit.state)) {
      this.#failPod(this.#exit.state, this.#exit.id);
      return;
    }
    if (!this.#world.random.chance(EXIT_UNREPORTED)) this.#reportEnd();
    this.#world.after(20, 2_000, () => {
      if (this.#gone) return;
      this.#world.judge.workerKilled(this.#uid);
      this.#stopWorker();
      this.#stopAgent();
      this.#succeeded = undefined;
      this.#restarts += 1;
      const waiting: ContainerState = { kind: "waiting", reason: "RestartingAllContainers" };
      this.#report("Running", waiting, waiting);
      this.#world.after(50, 600, () => this.#start());
    });
  }

  /** No rule restarts anything after such an exit: the Pod fails, even if its agent has exited too. */
  #isFinal(state: ContainerState): boolean {
    return state.kind === "terminated" && this.#world.finalCodes.has(state.exitCode);
  }

  #failPod(state: ContainerState, id: string): void {
    this.#world.finalExits.push(this.#name);
    this.#stopAgent();
    this.#report("Failed", this.#agentExit, state, id);
  }

  /** What has ended, before the kubelet stops the rest. */
  #reportEnd(): void {
    const agent = this.#agentExit ?? { kind: "running" };
    if (this.#exit !== undefined) this.#report("Running", agent, this.#exit.state, this.#exit.id);
    else if (this.#worker !== undefined) this.#report("Running", agent, { kind: "running" }, this.#worker.id);
  }

  /** By the clock of its node. */
  get #time(): string {
    return nodeTime(this.#node, this.#world.clock);
  }

  #noteFailure(epoch: number): void {
    this.#world.failures.failed({ uid: this.#uid, jobSetUid: this.#jobSet.uid, epoch });
  }

  #succeed(id: string): void {
    this.#changing = true;
    this.#stopAgent();
    this.#world.judge.slotReached(this.#jobSet.uid, this.#slot, Number.POSITIVE_INFINITY);
    this.#world.judge.podSucceeded(this.#uid);
    this.#report("Succeeded", undefined, { kind: "terminated", exitCode: 0, reason: "Completed" }, id);
  }

  #leave(): void {
    const epoch = this.#world.api.get("pod", this.#uid)?.epoch;
    if (epoch?.kind === "present") this.#world.judge.podEnded(this.#jobSet.uid, epoch.epoch);
  }

  /** Something failed in the epoch that runs now. */
  #fail(): void {
    const epoch = this.#world.api.get("object", this.#jobSet.name)?.status?.syncedEpoch;
    if (epoch !== undefined) this.#failIn(epoch);
  }

  /** The epoch may begin later: an agent that dies at the barrier ends it for its Pod all the same. */
  #failIn(epoch: number): void {
    this.#world.judge.epochFailed(this.#jobSet.uid, epoch);
  }

  #stopWorker(): void {
    if (this.#worker !== undefined) {
      this.#world.judge.workerEnded(this.#uid);
      this.#world.training.ended(this.#uid);
    }
    this.#worker = undefined;
  }

  #endAgent(exitCode: number): void {
    this.#stopAgent();
    this.#agentExit = { kind: "terminated", exitCode, reason: "Error", finishedAt: this.#time };
  }

  #stopAgent(): void {
    this.#agent?.end();
    this.#monitor?.end();
    this.#agent = undefined;
  }

  #report(
    phase: Pod["phase"],
    agent: ContainerState | undefined,
    worker: ContainerState,
    workerId?: string,
    init?: ContainerState,
  ): void {
    this.#reporter.report(
      podStatus(phase, {
        agent: agent ?? { kind: "unknown" },
        agentId: `${this.#uid}-agent-${this.#incarnation}`,
        worker,
        workerId,
        restarts: this.#restarts,
        init,
      }),
    );
  }
}
