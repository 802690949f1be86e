// JobSet's controller of a simulation: creates Jobs in startup order, suspends and resumes them, and applies the
// failure and success policies.
import type { Job } from "../api/job.ts";
import type { JobSet } from "../api/jobset.ts";
import type { JobController } from "./job-controller.ts";
import type { Nodes } from "./nodes.ts";
import { jobOf, jobSetOf } from "./objects.ts";
import { actionAfterDeadline, isSuccess } from "./policies.ts";
import type { PolicyJudge } from "./policy-judge.ts";
import { JOB_SET, type JobSetShape, type StageShape, slotNames } from "./shape.ts";
import type { World } from "./world.ts";

/** Changes of Pods are polled: a watch would only add another delay. */
const POLL_MS = 500;

export class JobSetController {
  readonly #world: World;
  readonly #nodes: Nodes;
  readonly #jobs: JobController;
  readonly #shape: JobSetShape;
  readonly #policies: PolicyJudge;
  #planned = false;
  #completing = false;

  constructor(world: World, nodes: Nodes, jobs: JobController, shape: JobSetShape, policies: PolicyJudge) {
    this.#world = world;
    this.#nodes = nodes;
    this.#jobs = jobs;
    this.#shape = shape;
    this.#policies = policies;
  }

  get jobSet(): JobSet | undefined {
    return this.#world.api.get("jobSet", JOB_SET);
  }

  get slots(): number {
    return this.#shape.stages.reduce((sum, { replicas, parallelism }) => sum + replicas * parallelism, 0);
  }

  /** A user creates the JobSet. */
  create(): void {
    const { api } = this.#world;
    const jobSet = jobSetOf(this.#shape, this.#world.uid("jobset"), api.nextVersion());
    this.#resetJudge(jobSet);
    api.set("jobSet", JOB_SET, jobSet);
    this.plan();
  }

  plan(): void {
    if (this.#planned) return;
    this.#planned = true;
    this.#world.after(10, 300, () => {
      this.#planned = false;
      this.#reconcile();
    });
  }

  poll(): void {
    this.#reconcile();
    this.#world.schedule.after(POLL_MS, () => this.poll());
  }

  #reconcile(): void {
    const { api } = this.#world;
    const jobSet = this.jobSet;
    if (jobSet === undefined || api.isDown) return;
    if (jobSet.outcome !== "none") {
      for (const pod of api.list("pod")) if (pod.phase !== "Succeeded") this.#nodes.remove(pod.uid);
      return;
    }
    const failed = api.list("job").find((job) => job.outcome === "Failed" && job.deletionTimestamp === undefined);
    if (failed !== undefined) {
      this.#applyFailurePolicy(jobSet, failed);
      return;
    }
    for (const stage of this.#shape.stages) {
      const mayStart = this.#mayStart(jobSet, stage);
      for (let index = 0; index < stage.replicas; index += 1) this.#reconcileJob(jobSet, stage, index, mayStart);
    }
    const jobs = api.list("job").filter(({ controller }) => controller?.uid === jobSet.uid);
    const expected = new Map(this.#shape.stages.map(({ name, replicas }) => [name, replicas]));
    const isMet = isSuccess(jobSet.successPolicy, jobs, expected);
    this.#policies.successSeen(isMet);
    if (isMet) this.#complete();
  }

  /** A busy controller takes seconds, while peers of the Pods that succeeded still run, or crash. */
  #complete(): void {
    if (this.#completing) return;
    this.#completing = true;
    const most = this.#shape.policies === undefined ? 0 : 5_000;
    const complete = () => {
      this.#completing = false;
      const { api } = this.#world;
      const jobSet = this.jobSet;
      if (jobSet === undefined || jobSet.outcome !== "none" || api.isDown) return;
      this.#world.tell("JobSet", "completed");
      api.set("jobSet", JOB_SET, { ...jobSet, outcome: "Completed", resourceVersion: api.nextVersion() });
    };
    if (most === 0) complete();
    else this.#world.after(0, most, complete);
  }

  #reconcileJob(jobSet: JobSet, stage: StageShape, index: number, mayStart: boolean): void {
    const { api } = this.#world;
    const name = `${JOB_SET}-${stage.name}-${index}`;
    const known = api.list("job").find((job) => job.name === name);
    // The name is taken until the Job of an earlier JobSet is gone.
    if (known !== undefined && known.controller?.uid !== jobSet.uid) return;
    if (known !== undefined) {
      this.#jobs.reconcile(jobSet, known, jobSet.suspended || (known.suspended && !mayStart));
      return;
    }
    if (!mayStart || jobSet.suspended) return;
    const job = jobOf(jobSet, stage, index, this.#world.uid("job"), api.nextVersion());
    api.set("job", job.uid, job);
  }

  /** Deletes every Job, and recreates each one as soon as its name is free. */
  #applyFailurePolicy(jobSet: JobSet, failed: Job): void {
    const { api } = this.#world;
    const action = this.#jobs.isFailedByPolicy(failed) ? "FailJobSet" : actionAfterDeadline(jobSet, failed);
    const counts = !action.endsWith("IgnoreMaxRestarts");
    const isSpent = counts && jobSet.restartsCountTowardsMax >= (jobSet.failurePolicy?.maxRestarts ?? 0);
    if (isSpent || action === "FailJobSet") {
      this.#world.tell("JobSet", isSpent ? "failed: maxRestarts is reached" : "failed: by a rule");
      this.#world.judge.jobSetFailed(jobSet.uid, api.get("object", JOB_SET)?.status?.syncedEpoch ?? 0);
      api.set("jobSet", JOB_SET, { ...jobSet, outcome: "Failed", resourceVersion: api.nextVersion() });
      return;
    }
    this.#world.tell("JobSet", "recreates every Job");
    this.#resetJudge(jobSet);
    const deletionTimestamp = new Date(this.#world.clock).toISOString();
    for (const job of api.list("job")) {
      api.set("job", job.uid, { ...job, deletionTimestamp, resourceVersion: api.nextVersion() });
    }
    api.set("jobSet", JOB_SET, {
      ...jobSet,
      restarts: jobSet.restarts + 1,
      restartsCountTowardsMax: jobSet.restartsCountTowardsMax + (counts ? 1 : 0),
      resourceVersion: api.nextVersion(),
    });
    this.plan();
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

  #resetJudge({ uid }: JobSet): void {
    this.#world.judge.reset(uid, new Map(this.#shape.stages.map((stage) => [stage.name, slotNames(stage)])));
  }
}
