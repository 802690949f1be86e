// A group for tests, in domain words: what the watches deliver, and the controller's decisions, executed in memory.
import { type InPlaceRestartStatus, readInPlaceRestart } from "../../src/api/in-place-restart.ts";
import { type Job, NEW_JOB } from "../../src/api/job.ts";
import type { Dependency, FailureRule, JobSet } from "../../src/api/jobset.ts";
import { AGENT, AGENT_ENV } from "../../src/api/names.ts";
import { type ContainerState, NEW_POD, type Pod } from "../../src/api/pod.ts";
import { DEFAULT_RESTART_POLICY, type RestartPolicy } from "../../src/api/restart-policy.ts";
import type { JsonObject } from "../../src/json/types.ts";
import { FAIL_JOB_SET_RULE, podFailureRules, workerRestartRule } from "../../src/policy/compile.ts";
import { parseExitCodePolicy, RESTART_EVERYTHING } from "../../src/policy/exit-codes.ts";
import { type Decision, decide, type Verdict } from "../decide.ts";
import { execute, type Writes } from "../execute.ts";
import { type Group, newGroup } from "../group/group.ts";
import {
  forgetJob,
  forgetPod,
  noteReported,
  observeJob,
  observeJobSet,
  observeObject,
  observePod,
} from "../group/observe.ts";
import { PAST_DEADLINE_SECONDS } from "../rules/recreate-jobset.ts";
import type { Notice } from "../status/notice.ts";
import type { Surroundings } from "../stuck-pods/surroundings.ts";

interface StageParts {
  readonly replicas?: number;
  readonly pods: number;
  readonly dependsOn?: readonly Dependency[];
  /** The user's own podFailurePolicy rules. */
  readonly podFailureRules?: readonly JsonObject[];
  /** Exit codes that injection keeps from restarting in place because such a rule fails the Job. */
  readonly failJobCodes?: readonly number[];
  /** A stage without an agent. */
  readonly plain?: boolean;
}

export const DISRUPTED = { type: "DisruptionTarget", status: "True", reason: "Evicted", message: "" } as const;
/** The grace period is over by the time at which a scene begins, and the kubelet had time to report. */
export const DELETED = { timestamp: "2025-12-31T23:59:50Z", graceSeconds: 30 } as const;
/** The grace period has just begun. */
export const LEAVING = { timestamp: "2026-01-01T00:00:30Z", graceSeconds: 30 } as const;
export const READY = { type: "Ready", status: "True", reason: "", message: "" } as const;

/** How an agent exits that was told to restart its Pod. */
const RESTART_EXIT_CODE = 88;
const AGENT_CONTAINER = {
  name: AGENT.container,
  env: [{ name: AGENT_ENV.restartExitCode, value: String(RESTART_EXIT_CODE) }],
  volumeMounts: [{ name: AGENT.tokenVolume }],
};

/** A template after injection: one worker, and one container that is not a worker. */
function templateOf(
  annotations: JobSet["annotations"],
  { podFailureRules: own = [], failJobCodes = [], plain = false }: StageParts,
): JobSet["replicatedJobs"][number]["template"] {
  if (plain) return {};
  const parsed = parseExitCodePolicy(annotations);
  const policy = parsed.ok ? parsed.policy : RESTART_EVERYTHING;
  const restarts = workerRestartRule({ ...policy, fail: [...policy.fail, ...failJobCodes] });
  const containers = [{ name: "main", restartPolicyRules: [restarts] }, { name: "logger" }];
  const podFailurePolicy = { rules: [...own, ...podFailureRules(policy, ["main"])] };
  return {
    spec: {
      podFailurePolicy,
      template: {
        spec: { initContainers: [AGENT_CONTAINER], containers },
      },
    },
  };
}

/** The rule that injection adds for the exit codes of the annotation. */
function rulesOf(annotations: JobSet["annotations"]): Pick<NonNullable<JobSet["failurePolicy"]>, "rules"> {
  const parsed = parseExitCodePolicy(annotations);
  if (!parsed.ok || parsed.policy.fail.length === 0) return {};
  return { rules: [failureRule({ name: FAIL_JOB_SET_RULE, onJobFailureReasons: ["PodFailurePolicy"] })] };
}

/** A FailJobSet rule for every failure, unless changed. */
export function failureRule(change: Partial<FailureRule> = {}): FailureRule {
  return {
    name: "failurePolicyRule0",
    action: "FailJobSet",
    targetReplicatedJobs: [],
    onJobFailureReasons: [],
    onJobFailureMessagePatterns: [],
    ...change,
  };
}

export class Scene {
  /** Milliseconds since 1970; tests move it. */
  now = Date.UTC(2026, 0, 1);
  group: Group;
  policy: RestartPolicy = DEFAULT_RESTART_POLICY;
  /** All notices published so far, in order. */
  readonly notices: Notice[] = [];
  readonly #stages: ReadonlyMap<string, StageParts>;
  #jobSet: JobSet;
  readonly #pods = new Map<string, Pod>();
  readonly #jobs = new Map<string, Job>();
  /** Restarts in place, by Pod. */
  readonly #restarts = new Map<string, number>();
  /** Pods that have restarted and taken no epoch yet. */
  readonly #waiting = new Set<string>();
  #stored: { readonly metadata: object; readonly spec: object; readonly status?: InPlaceRestartStatus } | undefined;
  #version = 0;

  constructor(
    stages: Readonly<Record<string, StageParts>> = { workers: { pods: 2 } },
    jobSet: Partial<JobSet> = {},
    surroundings?: Surroundings,
  ) {
    this.group = newGroup(surroundings);
    this.#stages = new Map(Object.entries(stages));
    this.#jobSet = {
      name: "train",
      namespace: "ml",
      uid: "js",
      resourceVersion: "1",
      labels: {},
      annotations: {},
      suspended: false,
      replicatedJobs: Object.entries(stages).map(([name, parts]) => {
        const { replicas = 1, pods, dependsOn = [] } = parts;
        const template = templateOf(jobSet.annotations ?? {}, parts);
        return { name, replicas, parallelism: pods, completions: pods, dependsOn, template };
      }),
      startupOrder: "AnyOrder",
      failurePolicy: { maxRestarts: 3, restartStrategy: "Recreate", ...rulesOf(jobSet.annotations ?? {}) },
      conditions: [],
      restarts: 0,
      restartsCountTowardsMax: 0,
      outcome: "none",
      ...jobSet,
    };
    observeJobSet(this.group, this.#jobSet, this.now);
  }

  /** Ten seconds pass, so that what only people see is written again. */
  later(): this {
    this.now += 10_000;
    return this;
  }

  get status(): InPlaceRestartStatus {
    const status = this.group.object?.status;
    if (status === undefined) throw new Error("the scene has no status yet");
    return status;
  }

  /** deprecatedEpoch/syncedEpoch. */
  get epochs(): string {
    return `${this.status.deprecatedEpoch}/${this.status.syncedEpoch}`;
  }

  changeJobSet(change: Partial<JobSet>): this {
    this.#jobSet = { ...this.#jobSet, ...change };
    observeJobSet(this.group, this.#jobSet, this.now);
    return this;
  }

  /** The Job of a stage, created or changed. */
  job(name: string, change: Partial<Job> = {}): this {
    const [stage = "", index = "0"] = name.split("-");
    const pods = this.#stages.get(stage)?.pods ?? 1;
    const job: Job = {
      name: `train-${name}`,
      namespace: "ml",
      uid: name,
      resourceVersion: "1",
      controller: { kind: "JobSet", name: "train", uid: this.#jobSet.uid },
      replicatedJob: stage,
      jobIndex: Number(index),
      parallelism: pods,
      completions: pods,
      ...NEW_JOB,
      ...this.#jobs.get(name),
      ...change,
    };
    this.#jobs.set(name, job);
    observeJob(this.group, job, this.now);
    return this;
  }

  forgetJob(name: string): this {
    this.#jobs.delete(name);
    forgetJob(this.group, name, this.now);
    return this;
  }

  /** Creates or changes a Pod by slot: "workers-0/1" is Job and index, "workers-0/1#2" the replacement. */
  pod(slot: string, change: Partial<Pod> = {}): this {
    const [job = "", rest = "0"] = slot.split("/");
    const [index] = rest.split("#");
    const pod: Pod = {
      name: slot,
      namespace: "ml",
      uid: slot,
      resourceVersion: "1",
      controller: { kind: "Job", name: `train-${job}`, uid: job },
      jobSetName: "train",
      jobSetUid: this.#jobSet.uid,
      replicatedJob: job.split("-")[0] ?? "",
      completionIndex: Number(index),
      ...NEW_POD,
      ...this.#pods.get(slot),
      ...change,
    };
    this.#pods.set(slot, pod);
    observePod(this.group, pod, this.now);
    return this;
  }

  /** The agent of the Pod takes back its report about the progress of the worker. */
  moves(slot: string): this {
    const known = this.#pods.get(slot);
    if (known === undefined) return this;
    const { hang: _, ...pod } = known;
    this.#pods.set(slot, pod);
    return this.pod(slot);
  }

  forgetPod(slot: string): this {
    this.#pods.delete(slot);
    forgetPod(this.group, slot, this.now);
    return this;
  }

  /** The kubelet restarts these Pods in place, and has not reported why. */
  restarts(...slots: readonly string[]): this {
    for (const slot of slots) {
      this.#restarts.set(slot, (this.#restarts.get(slot) ?? 0) + 1);
      this.#removeContainers(slot);
      this.#waiting.add(slot);
    }
    return this;
  }

  /** The agents of these Pods publish an epoch. Before that, the kubelet has reported the restart in place. */
  at(epoch: number, ...slots: readonly string[]): this {
    for (const slot of slots) {
      // The Job controller creates Pods without an epoch.
      if (!this.#pods.has(slot)) this.pod(slot);
      const last = this.#pods.get(slot)?.epoch;
      // An agent takes one epoch in its life.
      if (last?.kind === "present" && last.epoch !== epoch && !this.#waiting.delete(slot)) {
        const isNext = last.epoch + 1 === epoch;
        if (isNext && this.group.object?.status?.deprecatedEpoch === last.epoch) this.exitsAgent(slot);
        this.#restarts.set(slot, (this.#restarts.get(slot) ?? 0) + 1);
        if (isNext) this.#removeContainers(slot);
      }
      this.pod(slot, { epoch: { kind: "present", epoch } });
    }
    return this;
  }

  /** The agent exits, because it was told to restart its Pod or for another reason. */
  exitsAgent(slot: string, exitCode = RESTART_EXIT_CODE): this {
    const state = { kind: "terminated", exitCode, reason: "Error" } as const;
    const containers = this.#pods.get(slot)?.containers ?? [];
    return this.pod(slot, { containers: containers.map((each) => (each.init ? { ...each, state } : each)) });
  }

  #removeContainers(slot: string): void {
    const state = { kind: "waiting", reason: "RestartingAllContainers" } as const;
    const containers = this.#pods.get(slot)?.containers ?? [];
    this.pod(slot, {
      conditions: [],
      containers: containers.map(({ name, init }) => {
        const restartCount = this.#restarts.get(slot) ?? 0;
        return { name, init, restartCount, started: false, ready: false, state };
      }),
    });
  }

  /** The status of the Pod's worker; `run` names the run of the container. */
  worker(slot: string, run: string, state: ContainerState): this {
    const isUp = state.kind === "running";
    const main = { name: "main", init: false, containerID: run, restartCount: 0, started: isUp, ready: isUp, state };
    const logger = { ...main, name: "logger", containerID: `${run}-logger` };
    const restartCount = this.#restarts.get(slot) ?? 0;
    const passed = { started: true, state: { kind: "running" } } as const;
    const agent = { ...main, ...passed, name: AGENT.container, init: true, restartCount };
    const conditions = isUp ? [READY] : [];
    return this.pod(slot, { phase: "Running", conditions, containers: [main, logger, agent] });
  }

  runs(run: string, ...slots: readonly string[]): this {
    for (const slot of slots) this.worker(slot, `${slot}:${run}`, { kind: "running" });
    return this;
  }

  fails(slot: string, run: string, exitCode = 1): this {
    return this.worker(slot, `${slot}:${run}`, { kind: "terminated", exitCode, reason: "Error" });
  }

  verdict(): Verdict {
    return decide(this.group, this.now, this.policy);
  }

  /** Executes one decision, if there is one. */
  step(): Decision | undefined {
    const { decision, reports } = this.verdict();
    for (const { pod, reason, text } of reports) noteReported(this.group, pod.uid, reason, text);
    if (decision === undefined) return undefined;
    Array.from(execute(decision, { jobSet: this.#jobSet, object: this.group.object }, this.#writes));
    return decision;
  }

  /** In memory, and visible to the watches at once. */
  readonly #writes: Writes<unknown> = {
    createObject: ({ uid }) => this.store({ jobSetUID: uid }),
    deleteObject: () => this.loseObject(),
    writeStatus: (_object, status) => this.store(this.#stored?.spec ?? {}, status),
    failJobSet: () => this.changeJobSet({ outcome: "Failed" }),
    deletePod: (_jobSet, { uid }) => this.pod(uid, { deletion: LEAVING }),
    failJob: (_jobSet, { uid }) => this.job(uid, { activeDeadlineSeconds: PAST_DEADLINE_SECONDS }),
    decided: (decision) => {
      if ("notices" in decision) this.notices.push(...decision.notices);
    },
  };

  /** Decides until there is nothing left to decide. */
  settle(): this {
    for (let steps = 0; this.step() !== undefined; steps += 1) {
      // A group settles within a few decisions after any event; more means that decisions undo each other.
      if (steps > 10) throw new Error("the controller does not settle");
    }
    return this;
  }

  store(spec: object, status?: InPlaceRestartStatus): void {
    this.#version += 1;
    const metadata = { name: "train", namespace: "ml", uid: "ipr", resourceVersion: String(this.#version) };
    this.#stored = { metadata, spec, ...(status === undefined ? {} : { status }) };
    observeObject(this.group, readInPlaceRestart(structuredClone(this.#stored)), this.now);
  }

  loseObject(): this {
    this.#stored = undefined;
    observeObject(this.group, undefined, this.now);
    return this;
  }

  /** The controller is killed, and another one lists everything. */
  restartController(): this {
    this.group = newGroup(this.group.surroundings);
    for (const pod of this.#pods.values()) observePod(this.group, pod, this.now);
    for (const job of this.#jobs.values()) observeJob(this.group, job, this.now);
    if (this.#stored !== undefined) observeObject(this.group, readInPlaceRestart(this.#stored), this.now);
    observeJobSet(this.group, this.#jobSet, this.now);
    return this;
  }
}

/** A driver and two workers, all running in epoch 1. */
export const [DRIVER, FIRST, SECOND] = ["driver-0/0", "workers-0/0", "workers-0/1"] as const;

export function driverScene(jobSet: Partial<JobSet> = {}, workers: Partial<StageParts> = {}): Scene {
  const scene = new Scene({ driver: { pods: 1 }, workers: { pods: 2, ...workers } }, jobSet).settle();
  scene.job("driver-0").job("workers-0").at(1, DRIVER, FIRST, SECOND).settle();
  return scene.runs("a", DRIVER, FIRST, SECOND).settle();
}

/** One worker whose every failure climbs a rung of the ladder. It fails, gets a new Pod, and fails again. */
export function failTwice(jobSet: Partial<JobSet>): Scene {
  const scene = new Scene({ workers: { pods: 1 } }, jobSet).settle().job("workers-0");
  scene.policy = { ...scene.policy, escalateAfter: 1 };
  scene.at(1, FIRST).settle().runs("a", FIRST).settle().fails(FIRST, "a").settle();
  const second = `${FIRST}#2`;
  return scene.forgetPod(FIRST).at(2, second).settle().runs("b", second).settle().fails(second, "b").settle();
}

/** Two workers, both running in epoch 1. */
export function runningScene(jobSet: Partial<JobSet> = {}, surroundings?: Surroundings): Scene {
  const scene = new Scene({ workers: { pods: 2 } }, jobSet, surroundings).settle().job("workers-0");
  scene.at(1, "workers-0/0", "workers-0/1").settle();
  return scene.runs("a", "workers-0/0", "workers-0/1").settle().later();
}
