// One JobSet with its Jobs and Pods, as the watches show them, and the events of what can happen to all of its Pods at
// once. Events are made before they are played, so that making them is not measured.
import type { Groups } from "../../controller/group/groups.ts";
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { Job } from "../../src/api/job.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import type { Condition } from "../../src/api/metadata.ts";
import { AGENT } from "../../src/api/names.ts";
import type { ContainerState, ContainerStatus, Pod } from "../../src/api/pod.ts";
import { workerRestartRule } from "../../src/policy/compile.ts";
import { RESTART_EVERYTHING } from "../../src/policy/exit-codes.ts";

/** Delivers one watch event. */
export type Event = (groups: Groups) => void;

/** Events that are played in order, and what the group must show before the next act. */
export interface Act {
  readonly events: readonly Event[];
  readonly until: (status: InPlaceRestartStatus) => boolean;
}

export interface Shape {
  readonly jobs: number;
  readonly podsPerJob: number;
  /** With a driver that alone decides about success, and a rule that makes its crashes final. */
  readonly hasPolicies?: boolean;
}

const NAMESPACE = "bench";
const GRACE_SECONDS = 30;
/** The kubelets of a large cluster act side by side: this share of all Pods is busy at a time. */
const OVERLAP = 0.2;
const PODS_PER_NODE = 8;

const READY: Condition = { type: "Ready", status: "True", reason: "", message: "" };
const SCHEDULED: Condition = { type: "PodScheduled", status: "True", reason: "", message: "" };

export class Workload {
  readonly key: string;
  readonly size: number;
  readonly #name: string;
  readonly #shape: Shape;
  #jobSet: JobSet;
  readonly #jobs = new Map<string, Job>();
  readonly #pods = new Map<string, Pod>();
  /** Grows with every recreation. */
  #generation = 0;
  #version = 0;
  #epoch = 0;

  constructor(name: string, shape: Shape) {
    this.#name = name;
    this.key = `${NAMESPACE}/${name}`;
    this.#shape = shape;
    this.size = shape.jobs * shape.podsPerJob + (shape.hasPolicies === true ? 1 : 0);
    this.#jobSet = this.#newJobSet();
  }

  /** The first start of all Pods. */
  start(): Act[] {
    const { key } = this;
    const jobSet = this.#jobSet;
    const { uid, resourceVersion } = jobSet;
    const created: Event = (groups) => groups.jobSetChanged({ kind: "added", key, uid, resourceVersion, item: jobSet });
    return [
      { events: [created], until: () => true },
      { events: this.#createJobs(), until: () => true },
      ...this.#newPods(),
    ];
  }

  /** One worker fails, and every Pod restarts in place. */
  wave(): Act[] {
    const [first] = this.#slots();
    if (first === undefined) return [];
    return [{ events: [this.#change(first, exited(1))], until: isBetweenEpochs }, ...this.#restartAll()];
  }

  /** Every worker fails before any Pod has restarted. */
  massFailure(): Act[] {
    const isDriver = (slot: string) => this.#shape.hasPolicies === true && slot.startsWith("driver");
    const crashes = this.#slots().map((slot) => (isDriver(slot) ? [] : [this.#change(slot, exited(1))]));
    return [{ events: this.#mixed(crashes), until: isBetweenEpochs }, ...this.#restartAll()];
  }

  /** `kubectl delete pods --all`: all terminate at once, and their Jobs replace them. */
  massDeletion(): Act[] {
    return [
      { events: this.#mixed(this.#slots().map((slot) => [this.#change(slot, this.#deleted())])), until: () => true },
      { events: this.#mixed(this.#slots().map((slot) => this.#end(slot))), until: isBetweenEpochs },
      ...this.#newPods(),
    ];
  }

  /** JobSet deletes all Jobs, and creates them and their Pods again. */
  recreation(): Act[] {
    const deletionTimestamp = new Date().toISOString();
    const jobs = [...this.#jobs.values()].map((job) => this.#changeJob(job, { deletionTimestamp }));
    const pods = this.#slots().map((slot) => [this.#change(slot, this.#deleted())]);
    const ends = this.#slots().map((slot) => this.#end(slot));
    const gone = [...this.#jobs.values()].map((job): Event => {
      const { uid, namespace, name } = job;
      this.#jobs.delete(uid);
      return (groups) => groups.jobChanged({ kind: "deleted", key: `${namespace}/${name}`, uid, item: job, old: job });
    });
    this.#generation += 1;
    return [
      { events: [...jobs, ...this.#mixed(pods)], until: () => true },
      { events: [...this.#mixed(ends), ...gone], until: isBetweenEpochs },
      { events: this.#createJobs(), until: () => true },
      ...this.#newPods(),
    ];
  }

  /** After the epoch has ended: what each kubelet and agent reports, and the Job controller about once a second. */
  #restartAll(): Act[] {
    this.#epoch += 1;
    const epoch = this.#epoch;
    const restarts = this.#slots().map((slot) => [
      this.#change(slot, stopped),
      this.#change(slot, restarting),
      this.#change(slot, (pod) => ({ ...pod, epoch: { kind: "present", epoch } })),
    ]);
    return [
      { events: [...this.#mixed(restarts), ...this.#jobReports(0)], until: ({ syncedEpoch }) => syncedEpoch === epoch },
      this.#runAll(),
    ];
  }

  #newPods(): Act[] {
    this.#epoch += 1;
    const epoch = this.#epoch;
    const starts = this.#allSlots().map((slot) => {
      const created = this.#create(slot);
      return [
        created,
        this.#change(slot, (pod) => ({ ...pod, node: nodeOf(slot), conditions: [SCHEDULED] })),
        this.#change(slot, agentStarts),
        this.#change(slot, (pod) => ({ ...pod, epoch: { kind: "present", epoch } })),
      ];
    });
    return [{ events: this.#mixed(starts), until: ({ syncedEpoch }) => syncedEpoch === epoch }, this.#runAll()];
  }

  #runAll(): Act {
    const runs = this.#slots().map((slot) => [this.#change(slot, running), this.#change(slot, ready)]);
    const events = [...this.#mixed(runs), ...this.#jobReports(this.#shape.podsPerJob)];
    return { events, until: (status) => status.phase === "Running" };
  }

  /** Each Pod's own events in order, and those of all Pods as if a share of them were busy at a time. */
  #mixed(sequences: readonly (readonly Event[])[]): Event[] {
    const overlap = Math.max(1, sequences.length * OVERLAP);
    // A fixed order that is not the order of the slots.
    const place = (index: number) => (index * 7_919) % Math.max(1, sequences.length);
    return sequences
      .flatMap((events, index) => events.map((event, step) => ({ event, at: place(index) + step * overlap })))
      .toSorted((a, b) => a.at - b.at)
      .map(({ event }) => event);
  }

  #jobReports(readyPods: number): Event[] {
    return [...this.#jobs.values()].map((job) => this.#changeJob(job, { ready: readyPods }));
  }

  #createJobs(): Event[] {
    const events: Event[] = [];
    for (const slot of this.#allSlots()) {
      const { job: name, stage, pods } = this.#placeOf(slot);
      const uid = `${name}-${this.#generation}`;
      if (this.#jobs.has(uid)) continue;
      const job: Job = {
        name,
        namespace: NAMESPACE,
        uid,
        resourceVersion: this.#next(),
        controller: { kind: "JobSet", name: this.#name, uid: this.#jobSet.uid },
        replicatedJob: stage,
        suspended: false,
        parallelism: pods,
        completions: pods,
        completedIndexes: [],
        succeeded: 0,
        ready: 0,
        outcome: "none",
      };
      this.#jobs.set(uid, job);
      const { resourceVersion } = job;
      events.push((groups) =>
        groups.jobChanged({ kind: "added", key: `${NAMESPACE}/${name}`, uid, resourceVersion, item: job }),
      );
    }
    return events;
  }

  #changeJob(old: Job, change: Partial<Job>): Event {
    const item: Job = { ...old, ...change, resourceVersion: this.#next() };
    const { uid, name, resourceVersion } = item;
    this.#jobs.set(uid, item);
    return (groups) =>
      groups.jobChanged({ kind: "updated", key: `${NAMESPACE}/${name}`, uid, resourceVersion, item, old });
  }

  #create(slot: string): Event {
    const { job, index, stage } = this.#placeOf(slot);
    const version = this.#next();
    const pod: Pod = {
      name: `${this.#name}-${slot.replace("/", "-")}-${version}`,
      namespace: NAMESPACE,
      uid: `pod-${version}`,
      resourceVersion: version,
      controller: { kind: "Job", name: job, uid: `${job}-${this.#generation}` },
      jobSetName: this.#name,
      jobSetUid: this.#jobSet.uid,
      replicatedJob: stage,
      completionIndex: index,
      injected: true,
      safeToForcefullyDelete: false,
      epoch: { kind: "absent" },
      phase: "Pending",
      reason: "",
      conditions: [],
      containers: [],
    };
    this.#pods.set(slot, pod);
    const { uid, name, resourceVersion } = pod;
    return (groups) =>
      groups.podChanged({ kind: "added", key: `${NAMESPACE}/${name}`, uid, resourceVersion, item: pod });
  }

  #change(slot: string, change: (pod: Pod) => Pod): Event {
    const old = this.#pods.get(slot);
    if (old === undefined) throw new Error(`slot ${slot} is empty`);
    const item: Pod = { ...change(old), resourceVersion: this.#next() };
    this.#pods.set(slot, item);
    const { uid, name, resourceVersion } = item;
    return (groups) =>
      groups.podChanged({ kind: "updated", key: `${NAMESPACE}/${name}`, uid, resourceVersion, item, old });
  }

  #deleted(): (pod: Pod) => Pod {
    const timestamp = new Date(Date.now() + GRACE_SECONDS * 1_000).toISOString().replace(/\.\d+Z$/, "Z");
    return (pod) => ({ ...pod, deletion: { timestamp, graceSeconds: GRACE_SECONDS } });
  }

  /** The worker of a deleted Pod stops, its phase becomes final, and the Pod goes. */
  #end(slot: string): Event[] {
    const events = [this.#change(slot, exited(143)), this.#change(slot, (pod) => ({ ...pod, phase: "Failed" }))];
    const last = this.#pods.get(slot);
    if (last === undefined) return events;
    const { uid, name } = last;
    const key = `${NAMESPACE}/${name}`;
    return [...events, (groups) => groups.podChanged({ kind: "deleted", key, uid, item: last, old: last })];
  }

  #slots(): string[] {
    return [...this.#pods.keys()];
  }

  #allSlots(): string[] {
    const { jobs, podsPerJob, hasPolicies } = this.#shape;
    const slots = Array.from({ length: jobs * podsPerJob }, (_, at) => {
      return `workers-${Math.floor(at / podsPerJob)}/${at % podsPerJob}`;
    });
    return hasPolicies === true ? [...slots, "driver-0/0"] : slots;
  }

  #placeOf(slot: string) {
    const [job = "", index = ""] = slot.split("/");
    const stage = job.startsWith("driver") ? "driver" : "workers";
    const pods = stage === "driver" ? 1 : this.#shape.podsPerJob;
    return { job: `${this.#name}-${job}`, index: Number(index), stage, pods };
  }

  #next(): string {
    this.#version += 1;
    return `${this.#version}`;
  }

  #newJobSet(): JobSet {
    const { jobs, podsPerJob, hasPolicies } = this.#shape;
    const stage = (name: string, replicas: number, pods: number) => {
      return { name, replicas, parallelism: pods, completions: pods, dependsOn: [], template: template() };
    };
    const rule = {
      name: "driver-is-final",
      action: "FailJobSet",
      targetReplicatedJobs: ["driver"],
      onJobFailureReasons: [],
      onJobFailureMessagePatterns: [],
    } as const;
    return {
      name: this.#name,
      namespace: NAMESPACE,
      uid: `jobset-${this.#name}`,
      resourceVersion: this.#next(),
      labels: {},
      annotations: {},
      suspended: false,
      replicatedJobs: [stage("workers", jobs, podsPerJob), ...(hasPolicies === true ? [stage("driver", 1, 1)] : [])],
      startupOrder: "AnyOrder",
      failurePolicy: {
        maxRestarts: 1_000_000,
        restartStrategy: "Recreate",
        ...(hasPolicies === true ? { rules: [rule] } : {}),
      },
      ...(hasPolicies === true ? { successPolicy: { operator: "All", targetReplicatedJobs: ["driver"] } } : {}),
      conditions: [],
      restarts: 0,
      restartsCountTowardsMax: 0,
      outcome: "none",
    };
  }
}

function isBetweenEpochs({ deprecatedEpoch, syncedEpoch }: InPlaceRestartStatus): boolean {
  return deprecatedEpoch === syncedEpoch;
}

/** After injection. */
function template(): JobSet["replicatedJobs"][number]["template"] {
  const containers = [{ name: "trainer", restartPolicyRules: [workerRestartRule(RESTART_EVERYTHING)] }];
  const initContainers = [{ name: AGENT.container, volumeMounts: [{ name: AGENT.tokenVolume }] }];
  return { spec: { template: { spec: { initContainers, containers } } } };
}

function nodeOf(slot: string): string {
  const [job = "", index = "0"] = slot.split("/");
  return `node-of-${job}-${Math.floor(Number(index) / PODS_PER_NODE)}`;
}

function container(pod: Pod, init: boolean, state: ContainerState, restartCount: number): ContainerStatus {
  const name = init ? AGENT.container : "trainer";
  const isUp = state.kind === "running";
  const ran = state.kind === "running" || state.kind === "terminated";
  const status = { name, init, restartCount, started: isUp, ready: isUp, state };
  return ran ? { ...status, containerID: `containerd://${pod.uid}-${name}-${restartCount}` } : status;
}

function restartsOf({ containers }: Pod): number {
  return containers[0]?.restartCount ?? 0;
}

function seconds(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, "Z");
}

function withContainers(pod: Pod, agent: ContainerState, worker: ContainerState, restarts = restartsOf(pod)): Pod {
  return { ...pod, containers: [container(pod, true, agent, restarts), container(pod, false, worker, restarts)] };
}

const UP: ContainerState = { kind: "running", startedAt: "2026-01-01T00:00:00Z" };
const WAITING: ContainerState = { kind: "waiting", reason: "PodInitializing" };

function terminated(exitCode: number): ContainerState {
  const [startedAt, finishedAt] = ["2026-01-01T00:00:00Z", seconds()];
  return { kind: "terminated", exitCode, reason: "Error", startedAt, finishedAt, message: "connection lost" };
}

/** The worker exits, and its agent runs on. */
function exited(exitCode: number): (pod: Pod) => Pod {
  return (pod) => ({ ...withContainers(pod, UP, terminated(exitCode)), conditions: [SCHEDULED] });
}

/** The agent was told to restart its Pod, and the kubelet stopped the worker after it. */
function stopped(pod: Pod): Pod {
  return { ...withContainers(pod, terminated(88), terminated(137)), conditions: [SCHEDULED] };
}

/** The kubelet has removed all containers, and starts the agent. */
function restarting(pod: Pod): Pod {
  const waiting = { kind: "waiting", reason: "RestartingAllContainers" } as const;
  return withContainers(pod, waiting, waiting, restartsOf(pod) + 1);
}

function agentStarts(pod: Pod): Pod {
  return { ...withContainers(pod, UP, WAITING), phase: "Running" };
}

function running(pod: Pod): Pod {
  return withContainers(pod, UP, UP);
}

function ready(pod: Pod): Pod {
  return { ...pod, conditions: [SCHEDULED, READY] };
}
