// One JobSet with its Jobs and Pods, as the watches show them, and the events of what can happen to all of its Pods at
// once. An event is made shortly before it is delivered, as a watch parses it, and making it is not measured.
import type { Groups } from "../../controller/group/groups.ts";
import type { InPlaceRestart, InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { type Job, NEW_JOB } from "../../src/api/job.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { type Condition, wholeSeconds } from "../../src/api/metadata.ts";
import { AGENT } from "../../src/api/names.ts";
import { type ContainerState, type ContainerStatus, NEW_POD, type Pod } from "../../src/api/pod.ts";
import { workerRestartRule } from "../../src/policy/compile.ts";
import { RESTART_EVERYTHING } from "../../src/policy/exit-codes.ts";

/** Makes one watch event, which is then delivered. */
export type Event = () => (groups: Groups) => void;

/** Not a list: a hundred thousand prepared events would cost more memory than what is measured. */
export interface Events {
  readonly count: number;
  readonly at: (index: number) => Event;
}

/** Events that are played in order, and what the group must show before the next act. */
export interface Act {
  readonly events: Events;
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
    const change = { kind: "added", key, uid, resourceVersion, item: jobSet } as const;
    const created: Event = () => (groups) => groups.jobSetChanged(change);
    return [{ events: listed([created, ...this.#createJobs()]), until: () => true }, ...this.#newPods()];
  }

  /** What the first lists of another controller contain. */
  lists(object: InPlaceRestart): Events {
    const { key } = this;
    const added = <T extends { readonly uid: string; readonly resourceVersion: string }>(itemKey: string, item: T) =>
      ({ kind: "added", key: itemKey, uid: item.uid, resourceVersion: item.resourceVersion, item }) as const;
    const namesake = ({ name }: { readonly name: string }) => `${NAMESPACE}/${name}`;
    return listed([
      () => (groups) => groups.jobSetChanged(added(key, this.#jobSet)),
      () => (groups) => groups.objectChanged(added(key, object)),
      ...[...this.#jobs.values()].map(
        (job): Event =>
          () =>
          (groups) =>
            groups.jobChanged(added(namesake(job), job)),
      ),
      ...[...this.#pods.values()].map(
        (pod): Event =>
          () =>
          (groups) =>
            groups.podChanged(added(namesake(pod), pod)),
      ),
    ]);
  }

  /** One worker fails, and every Pod restarts in place. */
  wave(): Act[] {
    const [first] = this.#slots();
    if (first === undefined) return [];
    return [{ events: listed([this.#change(first, exited(1))]), until: isBetweenEpochs }, ...this.#restartAll()];
  }

  /** Every worker fails before any Pod has restarted. */
  massFailure(): Act[] {
    const isDriver = (slot: string) => this.#shape.hasPolicies === true && slot.startsWith("driver");
    const workers = this.#slots().filter((slot) => !isDriver(slot));
    const crashes = mixed(workers, [(slot) => this.#change(slot, exited(1))]);
    return [{ events: crashes, until: isBetweenEpochs }, ...this.#restartAll()];
  }

  /** `kubectl delete pods --all`: all terminate at once, and their Jobs replace them. */
  massDeletion(): Act[] {
    return [
      { events: mixed(this.#slots(), [this.#deletion]), until: () => true },
      { events: mixed(this.#slots(), this.#end), until: isBetweenEpochs },
      ...this.#newPods(),
    ];
  }

  /** JobSet deletes all Jobs, and creates them and their Pods again. */
  recreation(): Act[] {
    const deletionTimestamp = new Date().toISOString();
    const jobs = [...this.#jobs.values()].map((job) => this.#changeJob(job, { deletionTimestamp }));
    const gone = [...this.#jobs.values()].map((job): Event => {
      const { uid, namespace, name } = job;
      this.#jobs.delete(uid);
      const change = { kind: "deleted", key: `${namespace}/${name}`, uid, item: job, old: job } as const;
      return () => (groups) => groups.jobChanged(change);
    });
    this.#generation += 1;
    return [
      { events: listed(jobs), until: () => true },
      { events: mixed(this.#slots(), [this.#deletion]), until: () => true },
      { events: mixed(this.#slots(), this.#end), until: () => true },
      { events: listed(gone), until: isBetweenEpochs },
      { events: listed(this.#createJobs()), until: () => true },
      ...this.#newPods(),
    ];
  }

  /** After the epoch has ended: what each kubelet and agent reports, and the Job controller about once a second. */
  #restartAll(): Act[] {
    this.#epoch += 1;
    const epoch = this.#epoch;
    const restarts = mixed(this.#slots(), [
      (slot) => this.#change(slot, stopped),
      (slot) => this.#change(slot, restarting),
      (slot) => this.#change(slot, (pod) => ({ ...pod, epoch: { kind: "present", epoch } })),
    ]);
    return [
      { events: listed(this.#jobReports(0)), until: () => true },
      { events: restarts, until: ({ syncedEpoch }) => syncedEpoch === epoch },
      ...this.#runAll(),
    ];
  }

  #newPods(): Act[] {
    this.#epoch += 1;
    const epoch = this.#epoch;
    const starts = mixed(this.#slots(), [
      (slot) => this.#create(slot),
      (slot) => this.#change(slot, (pod) => ({ ...pod, node: nodeOf(slot), conditions: [SCHEDULED] })),
      (slot) => this.#change(slot, agentStarts),
      (slot) => this.#change(slot, (pod) => ({ ...pod, epoch: { kind: "present", epoch } })),
    ]);
    return [{ events: starts, until: ({ syncedEpoch }) => syncedEpoch === epoch }, ...this.#runAll()];
  }

  #runAll(): Act[] {
    const runs = mixed(this.#slots(), [(slot) => this.#change(slot, running), (slot) => this.#change(slot, ready)]);
    return [
      { events: runs, until: (status) => status.phase === "Running" },
      { events: listed(this.#jobReports(this.#shape.podsPerJob)), until: () => true },
    ];
  }

  #jobReports(readyPods: number): Event[] {
    return [...this.#jobs.values()].map((job) => this.#changeJob(job, { ready: readyPods }));
  }

  #createJobs(): Event[] {
    const events: Event[] = [];
    for (const slot of this.#slots()) {
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
        parallelism: pods,
        completions: pods,
        ...NEW_JOB,
      };
      this.#jobs.set(uid, job);
      const { resourceVersion } = job;
      const change = { kind: "added", key: `${NAMESPACE}/${name}`, uid, resourceVersion, item: job } as const;
      events.push(() => (groups) => groups.jobChanged(change));
    }
    return events;
  }

  #changeJob(old: Job, change: Partial<Job>): Event {
    const item: Job = { ...old, ...change, resourceVersion: this.#next() };
    const { uid, name, resourceVersion } = item;
    this.#jobs.set(uid, item);
    const update = { kind: "updated", key: `${NAMESPACE}/${name}`, uid, resourceVersion, item, old } as const;
    return () => (groups) => groups.jobChanged(update);
  }

  #create(slot: string): Event {
    return () => {
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
        ...NEW_POD,
      };
      this.#pods.set(slot, pod);
      const { uid, name, resourceVersion } = pod;
      const change = { kind: "added", key: `${NAMESPACE}/${name}`, uid, resourceVersion, item: pod } as const;
      return (groups) => groups.podChanged(change);
    };
  }

  #change(slot: string, change: (pod: Pod) => Pod): Event {
    return () => {
      const old = this.#pod(slot);
      const item: Pod = { ...change(old), resourceVersion: this.#next() };
      this.#pods.set(slot, item);
      const { uid, name, resourceVersion } = item;
      const update = { kind: "updated", key: `${NAMESPACE}/${name}`, uid, resourceVersion, item, old } as const;
      return (groups) => groups.podChanged(update);
    };
  }

  #pod(slot: string): Pod {
    const pod = this.#pods.get(slot);
    if (pod === undefined) throw new Error(`slot ${slot} is empty`);
    return pod;
  }

  readonly #deletion = (slot: string): Event =>
    this.#change(slot, (pod) => {
      const timestamp = wholeSeconds(Date.now() + GRACE_SECONDS * 1_000);
      return { ...pod, deletion: { timestamp, graceSeconds: GRACE_SECONDS } };
    });

  /** The worker of a deleted Pod stops, its phase becomes final, and the Pod goes. */
  readonly #end: readonly ((slot: string) => Event)[] = [
    (slot) => this.#change(slot, exited(143)),
    (slot) => this.#change(slot, (pod) => ({ ...pod, phase: "Failed" })),
    (slot) => () => {
      const last = this.#pod(slot);
      const { uid, name } = last;
      const change = { kind: "deleted", key: `${NAMESPACE}/${name}`, uid, item: last, old: last } as const;
      return (groups) => groups.podChanged(change);
    },
  ];

  #slots(): string[] {
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

function listed(events: readonly Event[]): Events {
  return { count: events.length, at: (index) => events[index] ?? nothing };
}

function nothing(): (groups: Groups) => void {
  return () => {};
}

/** Each Pod's own events in order, and those of all Pods as if a share of them were busy at a time. */
function mixed(slots: readonly string[], steps: readonly ((slot: string) => Event)[]): Events {
  const overlap = Math.max(1, slots.length * OVERLAP);
  // A fixed order that is not the order of the slots.
  const place = (index: number) => (index * 7_919) % Math.max(1, slots.length);
  const position = (event: number) => place(Math.floor(event / steps.length)) + (event % steps.length) * overlap;
  const order = Uint32Array.from({ length: slots.length * steps.length }, (_, event) => event);
  order.sort((a, b) => position(a) - position(b));
  return {
    count: order.length,
    at: (index) => {
      const event = order[index] ?? 0;
      return steps[event % steps.length]?.(slots[Math.floor(event / steps.length)] ?? "") ?? nothing;
    },
  };
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

function withContainers(pod: Pod, agent: ContainerState, worker: ContainerState, restarts = restartsOf(pod)): Pod {
  return { ...pod, containers: [container(pod, true, agent, restarts), container(pod, false, worker, restarts)] };
}

const UP: ContainerState = { kind: "running", startedAt: "2026-01-01T00:00:00Z" };
const WAITING: ContainerState = { kind: "waiting", reason: "PodInitializing" };

function terminated(exitCode: number): ContainerState {
  const [startedAt, finishedAt] = ["2026-01-01T00:00:00Z", wholeSeconds(Date.now())];
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
