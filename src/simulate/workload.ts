// JobSet's controller and the Job controller of the simulation: they create Jobs in startup order and Pods for every open
// index, replace lost Pods after the usual delay, suspend, resume, recreate and complete.
import { PAST_DEADLINE_SECONDS } from "../../controller/rules/recreate-jobset.ts";
import type { Job } from "../api/job.ts";
import type { Dependency, JobSet } from "../api/jobset.ts";
import { isTrue } from "../api/metadata.ts";
import { AGENT } from "../api/names.ts";
import type { Pod } from "../api/pod.ts";
import { workerRestartRule } from "../policy/compile.ts";
import { RESTART_EVERYTHING } from "../policy/exit-codes.ts";
import { PodOnNode } from "./kubelet.ts";
import { WORKER } from "./pod-status.ts";
import type { World } from "./world.ts";

export interface StageShape {
  readonly name: string;
  readonly replicas: number;
  readonly parallelism: number;
  readonly dependsOn: readonly Dependency[];
}

export interface JobSetShape {
  readonly stages: readonly StageShape[];
  readonly inOrder: boolean;
  readonly maxRestarts: number;
}

export const JOB_SET = "train";
const NAMESPACE = "default";
/** The key of the simulated group. */
export const GROUP_KEY = `${NAMESPACE}/${JOB_SET}`;

/** The Job controller's delay before it replaces a lost Pod: doubled with each loss, here with a low ceiling. */
const BACKOFF_MS = { first: 10_000, most: 40_000 };

/** Nodes are numbered; Pods are dealt out in turn. */
const NODES = 3;

export class Workload {
  readonly #world: World;
  readonly #shape: JobSetShape;
  readonly #onNodes = new Map<string, PodOnNode>();
  /** By Job and index: how many Pods it lost, and when the next may be created. */
  readonly #losses = new Map<string, { count: number; readonly retryAt: number }>();
  #planned = false;
  #pods = 0;

  constructor(world: World, shape: JobSetShape) {
    this.#world = world;
    this.#shape = shape;
    this.create();
  }

  get jobSet(): JobSet | undefined {
    return this.#world.api.get("jobSet", JOB_SET);
  }

  /** Pods whose containers exist on some node. */
  get pods(): readonly PodOnNode[] {
    return [...this.#onNodes.values()];
  }

  get slots(): number {
    return this.#shape.stages.reduce((sum, { replicas, parallelism }) => sum + replicas * parallelism, 0);
  }

  create(): void {
    const { api } = this.#world;
    const jobSet = jobSetOf(this.#shape, this.#world.uid("jobset"), api.nextVersion());
    this.#beginAnew(jobSet);
    api.set("jobSet", JOB_SET, jobSet);
    this.#plan();
  }

  /** Deleted and created again at once, under the same name, while the garbage collector still works on what was owned. */
  recreate(): void {
    const { api } = this.#world;
    this.#world.tell("user", "deletes the JobSet and creates it again");
    for (const pod of api.list("pod")) this.#world.after(10, 3_000, () => this.#vanish(pod.uid));
    for (const job of api.list("job")) this.#world.after(10, 3_000, () => api.delete("job", job.uid));
    api.delete("jobSet", JOB_SET);
    const object = api.get("object", JOB_SET);
    this.#world.after(10, 3_000, () => {
      if (api.get("object", JOB_SET)?.metadata.uid === object?.metadata.uid) api.delete("object", JOB_SET);
    });
    this.create();
  }

  suspend(suspended: boolean): void {
    const jobSet = this.jobSet;
    if (jobSet === undefined) return;
    this.#world.tell("user", suspended ? "suspends the JobSet" : "resumes the JobSet");
    const lastTransitionTime = new Date(this.#world.clock).toISOString();
    const condition = { type: "Suspended", status: suspended ? "True" : "False", reason: "", message: "" } as const;
    const conditions = [{ ...condition, lastTransitionTime }];
    const resourceVersion = this.#world.api.nextVersion();
    this.#world.api.set("jobSet", JOB_SET, { ...jobSet, suspended, conditions, resourceVersion });
    this.#plan();
  }

  /** Whether there was one to delete. */
  deletePod(uid: string, how: { readonly disrupted: boolean; readonly forced: boolean }): boolean {
    const { api } = this.#world;
    const pod = api.get("pod", uid);
    if (pod === undefined) return false;
    if (pod.deletion !== undefined) return true;
    if (how.forced) {
      this.#vanish(uid);
      this.#plan();
      return true;
    }
    const target = { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI", message: "" } as const;
    api.set("pod", uid, {
      ...pod,
      deletion: { timestamp: new Date(this.#world.clock).toISOString(), graceSeconds: 2 },
      conditions: how.disrupted ? [...pod.conditions, target] : pod.conditions,
      resourceVersion: api.nextVersion(),
    });
    this.#world.after(5, 200, () => {
      const onNode = this.#onNodes.get(uid);
      if (onNode === undefined) this.#vanish(uid);
      else onNode.terminate(() => this.#vanish(uid));
    });
    return true;
  }

  /** In the background: the Job is gone at once, and its Pods end when the garbage collector finds them. JobSet makes it anew. */
  deleteJob(): void {
    const { api } = this.#world;
    const job = this.#world.random.pick(api.list("job").filter(({ outcome }) => outcome === "none"));
    if (job === undefined) return;
    this.#world.tell("user", `deletes Job ${job.name}`);
    api.delete("job", job.uid);
    for (const pod of api.list("pod").filter(({ controller }) => controller?.uid === job.uid))
      this.#world.after(10, 3_000, () => this.deletePod(pod.uid, { disrupted: false, forced: false }));
    this.#plan();
  }

  /** Its deadline has passed. Whether there was one to fail. */
  failJob(uid: string): boolean {
    const { api } = this.#world;
    const job = api.get("job", uid);
    if (job === undefined) return false;
    api.set("job", uid, {
      ...job,
      activeDeadlineSeconds: PAST_DEADLINE_SECONDS,
      resourceVersion: api.nextVersion(),
    });
    this.#plan();
    return true;
  }

  /** A node loses power. Its Pods are noticed, evicted and freed by force much later. */
  loseNode(node: string): void {
    const { api } = this.#world;
    const lost = api.list("pod").filter((each) => each.node === node);
    // Workers that wait for a lost one give up long before the node is missed.
    const peers = this.pods.filter((pod) => pod.hasWorker && !lost.some(({ name }) => name === pod.name));
    if (lost.length > 0) this.#world.after(1_000, 30_000, () => this.#world.random.pick(peers)?.endWorker(1));
    for (const pod of lost) {
      this.#onNodes.get(pod.uid)?.vanish();
      this.#world.after(40_000, 50_000, () => {
        this.deletePod(pod.uid, { disrupted: true, forced: false });
        this.#onNodes.delete(pod.uid);
      });
      this.#world.after(60_000, 80_000, () => {
        this.#vanish(pod.uid);
        this.#plan();
      });
    }
  }

  #vanish(uid: string): void {
    const { api } = this.#world;
    const pod = api.get("pod", uid);
    this.#onNodes.get(uid)?.vanish();
    this.#onNodes.delete(uid);
    if (pod !== undefined && pod.phase !== "Succeeded") this.#noteLoss(pod);
    api.delete("pod", uid);
    this.#plan();
  }

  #noteLoss(pod: Pod): void {
    const key = slotKey(pod);
    const count = (this.#losses.get(key)?.count ?? 0) + 1;
    const delay = Math.min(BACKOFF_MS.first * 2 ** (count - 1), BACKOFF_MS.most);
    this.#losses.set(key, { count, retryAt: this.#world.schedule.now + delay });
    this.#world.schedule.after(delay, () => this.#plan());
  }

  #plan(): void {
    if (this.#planned) return;
    this.#planned = true;
    this.#world.after(10, 300, () => {
      this.#planned = false;
      this.#reconcile();
    });
  }

  #reconcile(): void {
    const jobSet = this.jobSet;
    if (jobSet === undefined || this.#world.api.isDown) return;
    if (jobSet.outcome !== "none") {
      for (const pod of this.#world.api.list("pod")) if (pod.phase !== "Succeeded") this.#vanish(pod.uid);
      return;
    }
    if (this.#world.api.list("job").some((job) => job.outcome === "Failed" && job.deletionTimestamp === undefined)) {
      this.#recreateJobs(jobSet);
      return;
    }
    for (const stage of this.#shape.stages) {
      const mayStart = this.#mayStart(jobSet, stage);
      for (let index = 0; index < stage.replicas; index += 1) this.#reconcileJob(jobSet, stage, index, mayStart);
    }
    const jobs = this.#world.api.list("job");
    const expected = this.#shape.stages.reduce((sum, { replicas }) => sum + replicas, 0);
    if (jobs.length === expected && jobs.every(({ outcome }) => outcome === "Complete")) {
      this.#world.tell("JobSet", "completed");
      const resourceVersion = this.#world.api.nextVersion();
      this.#world.api.set("jobSet", JOB_SET, { ...jobSet, outcome: "Completed", resourceVersion });
    }
  }

  /** JobSet's failure policy: all Jobs go, and each is made anew as soon as its name is free. */
  #recreateJobs(jobSet: JobSet): void {
    const { api } = this.#world;
    if (jobSet.restartsCountTowardsMax >= (jobSet.failurePolicy?.maxRestarts ?? 0)) {
      this.#world.tell("JobSet", "failed: no recreation is left");
      api.set("jobSet", JOB_SET, { ...jobSet, outcome: "Failed", resourceVersion: api.nextVersion() });
      return;
    }
    this.#world.tell("JobSet", "recreates every Job");
    this.#beginAnew(jobSet);
    const deletionTimestamp = new Date(this.#world.clock).toISOString();
    for (const job of api.list("job")) {
      api.set("job", job.uid, { ...job, deletionTimestamp, resourceVersion: api.nextVersion() });
    }
    api.set("jobSet", JOB_SET, {
      ...jobSet,
      restarts: jobSet.restarts + 1,
      restartsCountTowardsMax: jobSet.restartsCountTowardsMax + 1,
      resourceVersion: api.nextVersion(),
    });
    this.#plan();
  }

  #beginAnew({ uid }: JobSet): void {
    this.#world.judge.beginAnew(uid, new Map(this.#shape.stages.map((stage) => [stage.name, slotNames(stage)])));
  }

  /** A Job that is deleted, or has passed its deadline, ends its Pods first. */
  #endJob(job: Job): void {
    const { api } = this.#world;
    const pods = api.list("pod").filter((pod) => pod.controller?.uid === job.uid);
    const isGone = job.deletionTimestamp !== undefined;
    for (const pod of pods) {
      if (pod.phase !== "Succeeded") this.deletePod(pod.uid, { disrupted: false, forced: false });
      else if (isGone) this.#vanish(pod.uid);
    }
    if (pods.some(({ phase }) => phase !== "Succeeded")) return;
    if (isGone) api.delete("job", job.uid);
    else if (job.outcome === "none")
      api.set("job", job.uid, { ...job, outcome: "Failed", resourceVersion: api.nextVersion() });
  }

  /** The controllers learn of Pods by watching; here they look again from time to time. */
  lookAgain(): void {
    this.#reconcile();
    this.#world.schedule.after(500, () => this.lookAgain());
  }

  #mayStart(jobSet: JobSet, stage: StageShape): boolean {
    const position = this.#shape.stages.indexOf(stage);
    const earlier = this.#shape.stages.slice(0, position).map(({ name }) => ({ name, status: "Ready" as const }));
    const prerequisites = jobSet.startupOrder === "InOrder" ? earlier : stage.dependsOn;
    return prerequisites.every(({ name, status }) => {
      const other = this.#shape.stages.find((each) => each.name === name);
      const jobs = this.#world.api
        .list("job")
        .filter((job) => job.replicatedJob === name && job.controller?.uid === jobSet.uid)
        .filter((job) => !job.suspended && job.deletionTimestamp === undefined);
      return (
        jobs.length === other?.replicas &&
        jobs.every(
          (job) => job.outcome === "Complete" || (status === "Ready" && job.ready + job.succeeded >= job.parallelism),
        )
      );
    });
  }

  #reconcileJob(jobSet: JobSet, stage: StageShape, index: number, mayStart: boolean): void {
    const { api } = this.#world;
    const name = `${JOB_SET}-${stage.name}-${index}`;
    const known = api.list("job").find((job) => job.name === name);
    // The name is taken until the Job of an earlier JobSet is gone.
    if (known !== undefined && known.controller?.uid !== jobSet.uid) return;
    if (known === undefined) {
      if (!mayStart || jobSet.suspended) return;
      const job = jobOf(jobSet, stage, index, this.#world.uid("job"), api.nextVersion());
      api.set("job", job.uid, job);
      return;
    }
    if (known.deletionTimestamp !== undefined || known.activeDeadlineSeconds !== undefined) {
      this.#endJob(known);
      return;
    }
    const suspended = jobSet.suspended || (known.suspended && !mayStart);
    const pods = api.list("pod").filter((pod) => pod.controller?.uid === known.uid);
    const job = withPods({ ...known, suspended }, pods);
    const same = job.suspended === known.suspended && job.ready === known.ready && job.succeeded === known.succeeded;
    if (!same) api.set("job", job.uid, { ...job, resourceVersion: api.nextVersion() });
    if (suspended) {
      for (const pod of pods) {
        if (pod.phase !== "Succeeded") this.deletePod(pod.uid, { disrupted: false, forced: false });
        this.#losses.delete(slotKey(pod));
      }
      return;
    }
    for (let slot = 0; slot < stage.parallelism; slot += 1) this.#reconcileSlot(jobSet, job, pods, slot);
  }

  #reconcileSlot(jobSet: JobSet, job: Job, pods: readonly Pod[], index: number): void {
    if (job.completedIndexes.some(({ first }) => first === index)) return;
    // podReplacementPolicy Failed: not before the last one is really over.
    if (pods.some((pod) => pod.completionIndex === index && pod.phase !== "Failed")) return;
    if (pods.some((pod) => pod.completionIndex === index && pod.deletion !== undefined)) return;
    if ((this.#losses.get(`${job.uid}/${index}`)?.retryAt ?? 0) > this.#world.schedule.now) return;
    const { api } = this.#world;
    this.#pods += 1;
    const pod = podOf(jobSet, job, index, this.#world.uid("pod"), this.#pods, api.nextVersion());
    api.set("pod", pod.uid, pod);
    this.#onNodes.set(pod.uid, new PodOnNode(this.#world, pod, `${job.name}/${index}`));
  }

  /** The UID of a Pod, by its process on a node. */
  uidOf(onNode: PodOnNode): string | undefined {
    for (const [uid, each] of this.#onNodes) if (each === onNode) return uid;
    return undefined;
  }
}

function slotKey(pod: Pod): string {
  return `${pod.controller?.uid}/${pod.completionIndex}`;
}

function slotNames({ name, replicas, parallelism }: StageShape): readonly string[] {
  return Array.from({ length: replicas * parallelism }, (_, slot) => {
    return `${JOB_SET}-${name}-${Math.floor(slot / parallelism)}/${slot % parallelism}`;
  });
}

function withPods(job: Job, pods: readonly Pod[]): Job {
  const done = pods
    .filter(({ phase }) => phase === "Succeeded")
    .flatMap(({ completionIndex }) => completionIndex ?? []);
  const known = job.completedIndexes.map(({ first }) => first);
  const indexes = [...new Set([...known, ...done])].sort((a, b) => a - b);
  const ready = pods.filter(({ conditions, phase }) => phase === "Running" && isTrue(conditions, "Ready")).length;
  return {
    ...job,
    completedIndexes: indexes.map((index) => ({ first: index, last: index })),
    succeeded: indexes.length,
    ready,
    outcome: indexes.length === job.parallelism ? "Complete" : "none",
  };
}

export function jobSetOf({ stages, inOrder, maxRestarts }: JobSetShape, uid: string, resourceVersion: string): JobSet {
  const template = {
    spec: {
      template: {
        spec: {
          initContainers: [{ name: AGENT.container, volumeMounts: [{ name: AGENT.tokenVolume }] }],
          containers: [{ name: WORKER, restartPolicyRules: [workerRestartRule(RESTART_EVERYTHING)] }],
        },
      },
    },
  };
  return {
    name: JOB_SET,
    namespace: NAMESPACE,
    uid,
    resourceVersion,
    labels: {},
    annotations: {},
    suspended: false,
    replicatedJobs: stages.map((stage) => ({ ...stage, completions: stage.parallelism, template })),
    startupOrder: inOrder ? "InOrder" : "AnyOrder",
    failurePolicy: { maxRestarts, restartStrategy: "Recreate" },
    conditions: [],
    restarts: 0,
    restartsCountTowardsMax: 0,
    outcome: "none",
  };
}

export function jobOf(jobSet: JobSet, stage: StageShape, index: number, uid: string, resourceVersion: string): Job {
  return {
    name: `${jobSet.name}-${stage.name}-${index}`,
    namespace: jobSet.namespace,
    uid,
    resourceVersion,
    controller: { kind: "JobSet", name: jobSet.name, uid: jobSet.uid },
    replicatedJob: stage.name,
    jobIndex: index,
    suspended: false,
    parallelism: stage.parallelism,
    completions: stage.parallelism,
    completedIndexes: [],
    succeeded: 0,
    ready: 0,
    outcome: "none",
  };
}

export function podOf(
  jobSet: JobSet,
  job: Job,
  index: number,
  uid: string,
  number: number,
  resourceVersion: string,
): Pod {
  return {
    name: `${job.name}-${index}-${number.toString(36).padStart(5, "0")}`,
    namespace: job.namespace,
    uid,
    resourceVersion,
    controller: { kind: "Job", name: job.name, uid: job.uid },
    jobSetName: jobSet.name,
    jobSetUid: jobSet.uid,
    replicatedJob: job.replicatedJob,
    completionIndex: index,
    injected: true,
    safeToForcefullyDelete: false,
    epoch: { kind: "absent" },
    phase: "Pending",
    reason: "",
    node: `node-${number % NODES}`,
    conditions: [],
    containers: [],
  };
}
