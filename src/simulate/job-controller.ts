// The Job controller of a simulation: Pods for every open index, replaced after the usual back-off.
import { PAST_DEADLINE_SECONDS } from "../../controller/rules/recreate-jobset.ts";
import type { Job } from "../api/job.ts";
import type { JobSet } from "../api/jobset.ts";
import { isTrue } from "../api/metadata.ts";
import type { Pod } from "../api/pod.ts";
import type { Nodes } from "./nodes.ts";
import { podOf } from "./objects.ts";
import type { World } from "./world.ts";

/** The delay before a lost Pod is replaced. It doubles with each loss; the ceiling is lower than the real one. */
const BACKOFF_MS = { first: 10_000, most: 40_000 };

export class JobController {
  readonly #world: World;
  readonly #nodes: Nodes;
  /** By Job and index: how many Pods were lost, and when the next may be created. */
  readonly #losses = new Map<string, { readonly count: number; readonly retryAt: number }>();
  /** Indexes that are done, by Job. A finalizer keeps a Pod until its Job has counted it. */
  readonly #done = new Map<string, Set<number>>();
  /** UIDs of the Jobs that their podFailurePolicy has failed. */
  readonly #failedByPolicy = new Set<string>();
  #created = 0;

  constructor(world: World, nodes: Nodes) {
    this.#world = world;
    this.#nodes = nodes;
  }

  /** Makes the Job exceed its deadline. False when there is no such Job. */
  fail(uid: string): boolean {
    const { api } = this.#world;
    const job = api.get("job", uid);
    if (job === undefined) return false;
    const resourceVersion = api.nextVersion();
    api.set("job", uid, { ...job, activeDeadlineSeconds: PAST_DEADLINE_SECONDS, resourceVersion });
    return true;
  }

  podSucceeded({ controller, completionIndex }: Pod): void {
    if (controller === undefined || completionIndex === undefined) return;
    const done = this.#done.get(controller.uid) ?? new Set();
    this.#done.set(controller.uid, done.add(completionIndex));
  }

  /** Returns the delay before the Pod is replaced, in milliseconds. */
  podLost(pod: Pod): number {
    const key = slotKey(pod);
    const count = (this.#losses.get(key)?.count ?? 0) + 1;
    const delay = Math.min(BACKOFF_MS.first * 2 ** (count - 1), BACKOFF_MS.most);
    this.#losses.set(key, { count, retryAt: this.#world.schedule.now + delay });
    return delay;
  }

  reconcile(jobSet: JobSet, known: Job, suspended: boolean): void {
    const { api } = this.#world;
    if (known.deletionTimestamp !== undefined || known.activeDeadlineSeconds !== undefined) {
      this.#end(known);
      return;
    }
    const pods = api.list("pod").filter((pod) => pod.controller?.uid === known.uid);
    if (pods.some((pod) => this.#isFinal(pod))) {
      this.#failedByPolicy.add(known.uid);
      this.fail(known.uid);
      return;
    }
    const job = withPods({ ...known, suspended }, pods, this.#done.get(known.uid) ?? new Set());
    const same = job.suspended === known.suspended && job.ready === known.ready && job.succeeded === known.succeeded;
    if (!same) api.set("job", job.uid, { ...job, resourceVersion: api.nextVersion() });
    if (suspended) {
      for (const pod of pods) {
        if (pod.phase !== "Succeeded") this.#nodes.delete(pod.uid, { disrupted: false, forced: false });
        this.#losses.delete(slotKey(pod));
      }
      return;
    }
    for (let index = 0; index < job.parallelism; index += 1) this.#reconcileSlot(jobSet, job, pods, index);
  }

  isFailedByPolicy({ uid }: Job): boolean {
    return this.#failedByPolicy.has(uid);
  }

  /** Whether podFailurePolicy fails the Job because of this Pod. */
  #isFinal({ phase, containers }: Pod): boolean {
    const { finalCodes } = this.#world;
    return (
      phase === "Failed" &&
      containers.some(({ init, state }) => !init && state.kind === "terminated" && finalCodes.has(state.exitCode))
    );
  }

  /** A Job that is deleted, or exceeded its deadline, ends its Pods first. */
  #end(job: Job): void {
    const { api } = this.#world;
    const pods = api.list("pod").filter((pod) => pod.controller?.uid === job.uid);
    const isDeleted = job.deletionTimestamp !== undefined;
    for (const pod of pods) {
      if (pod.phase !== "Succeeded") this.#nodes.delete(pod.uid, { disrupted: false, forced: false });
      else if (isDeleted) this.#nodes.remove(pod.uid);
    }
    if (pods.some(({ phase }) => phase !== "Succeeded")) return;
    if (isDeleted) api.delete("job", job.uid);
    else if (job.outcome === "none")
      api.set("job", job.uid, { ...job, outcome: "Failed", resourceVersion: api.nextVersion() });
  }

  #reconcileSlot(jobSet: JobSet, job: Job, pods: readonly Pod[], index: number): void {
    if (job.completedIndexes.some(({ first }) => first === index)) return;
    // podReplacementPolicy Failed: no replacement before the last Pod has terminated.
    if (pods.some((pod) => pod.completionIndex === index && pod.phase !== "Failed")) return;
    if (pods.some((pod) => pod.completionIndex === index && pod.deletion !== undefined)) return;
    if ((this.#losses.get(`${job.uid}/${index}`)?.retryAt ?? 0) > this.#world.schedule.now) return;
    const { api } = this.#world;
    this.#created += 1;
    const created = podOf(jobSet, job, index, this.#world.uid("pod"), this.#created, api.nextVersion());
    const pod = { ...created, node: this.#nodes.choose(this.#created) };
    api.set("pod", pod.uid, pod);
    this.#nodes.start(pod, `${job.name}/${index}`);
  }
}

function slotKey(pod: Pod): string {
  return `${pod.controller?.uid}/${pod.completionIndex}`;
}

function withPods(job: Job, pods: readonly Pod[], counted: ReadonlySet<number>): Job {
  const done = pods
    .filter(({ phase }) => phase === "Succeeded")
    .flatMap(({ completionIndex }) => completionIndex ?? []);
  const known = job.completedIndexes.map(({ first }) => first);
  const indexes = [...new Set([...known, ...counted, ...done])].sort((a, b) => a - b);
  const ready = pods.filter(({ conditions, phase }) => phase === "Running" && isTrue(conditions, "Ready")).length;
  return {
    ...job,
    completedIndexes: indexes.map((index) => ({ first: index, last: index })),
    succeeded: indexes.length,
    ready,
    outcome: indexes.length === job.parallelism ? "Complete" : "none",
  };
}
