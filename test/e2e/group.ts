// A training group as a user sees it: a plain JobSet, its Pods, and the InPlaceRestart object.

import { IN_PLACE_RESTART, type InPlaceRestartStatus, readInPlaceRestart } from "../../src/api/in-place-restart.ts";
import { type JobSet, readJobSet } from "../../src/api/jobset.ts";
import { AGENT, HANG_ANNOTATION, JOBSET, LABEL } from "../../src/api/names.ts";
import { type ContainerStatus, type Pod, readPod } from "../../src/api/pod.ts";
import { asList, asMap, asText } from "../../src/json/fields.ts";
import { hasStatus } from "../../src/kube/api-error.ts";
import { APPLY_PATCH, JSON_PATCH, type KubeClient } from "../../src/kube/client.ts";
import { hangContainers, killContainers } from "../cluster/container.ts";
import type { Kubectl } from "../cluster/kubectl.ts";
import { waitFor } from "../cluster/proc.ts";
import { countRuns, script } from "./scripts.ts";

/** Where a group runs. */
export interface Home {
  readonly kubectl: Kubectl;
  /** For frequent requests, because every kubectl call starts a process. */
  readonly client: KubeClient;
  readonly namespace: string;
}

export interface GroupShape {
  /** The number of Pods of each replicatedJob, in order. */
  readonly stages: Readonly<Record<string, number>>;
  readonly maxRestarts?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Additional fields of spec.failurePolicy and spec. */
  readonly failurePolicy?: Readonly<Record<string, unknown>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  /** Additional fields of a replicatedJob, by name. */
  readonly stage?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Additional fields of the Job spec, by the name of the replicatedJob. */
  readonly job?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Additional fields of the Pod spec, by the name of the replicatedJob. */
  readonly podSpec?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface GroupState extends InPlaceRestartStatus {
  readonly jobSetUid: string;
  /** Ordered by slot. */
  readonly pods: readonly PodState[];
}

export interface PodState {
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  /** Empty without one. */
  readonly address: string;
  readonly stage: string;
  readonly phase: string;
  readonly terminating: boolean;
  /** NaN without one. */
  readonly epoch: number;
  readonly attempt: number;
  /** What its agent reports about the progress of its worker. Empty without a report. */
  readonly hang: string;
  readonly worker: Container;
  readonly agent: Container;
  /** All containers, by name. */
  readonly containers: Readonly<Record<string, Container>>;
}

export interface Container {
  readonly id: string;
  readonly restarts: number;
  readonly running: boolean;
  /** Milliseconds since the epoch, in the kubelet's precision of one second. */
  readonly startedAt: number;
}

export interface Start {
  readonly arrived: readonly number[];
  readonly lastArrival: number;
  readonly started: readonly number[];
  readonly firstStart: number;
  readonly lastStart: number;
}

/** A recovery takes seconds, but a busy machine can be much slower. */
const TIMEOUT_MS = 90_000;

export class TrainingGroup {
  readonly name: string;
  readonly #home: Home;
  readonly #shape: GroupShape;
  readonly #size: number;

  private constructor(home: Home, name: string, shape: GroupShape) {
    this.name = name;
    this.#home = home;
    this.#shape = shape;
    this.#size = Object.values(shape.stages).reduce((sum, pods) => sum + pods, 0);
  }

  /** Of a plain JobSet that somebody else creates from `manifest`. */
  static of(home: Home, name: string, shape: GroupShape): TrainingGroup {
    return new TrainingGroup(home, name, shape);
  }

  /** Creates a plain JobSet. */
  static async start(home: Home, name: string, shape: GroupShape): Promise<TrainingGroup> {
    const group = TrainingGroup.of(home, name, shape);
    await group.create();
    return group;
  }

  /** The plain JobSet. */
  get manifest(): object {
    return jobSetOf(this.name, this.#shape);
  }

  async create(): Promise<void> {
    await this.#home.client.request("POST", this.#jobSets, { body: this.manifest });
  }

  /** Applies the plain JobSet with these annotations, as a GitOps tool does. */
  async apply(annotations: Readonly<Record<string, string>>): Promise<void> {
    await this.#home.client.request("PATCH", `${this.#jobSets}/${this.name}`, {
      body: jobSetOf(this.name, { ...this.#shape, annotations }),
      contentType: APPLY_PATCH,
      query: { fieldManager: "gitops", force: true },
    });
  }

  /** Starts to delete the JobSet with its dependents. */
  async delete(): Promise<void> {
    await this.#home.client.request("DELETE", `${this.#jobSets}/${this.name}`, {
      body: { propagationPolicy: "Background" },
    });
  }

  async suspend(suspend: boolean): Promise<void> {
    const body = [{ op: "add", path: "/spec/suspend", value: suspend }];
    await this.#home.client.request("PATCH", `${this.#jobSets}/${this.name}`, { body, contentType: JSON_PATCH });
  }

  /** Waits until every worker runs. */
  running(): Promise<GroupState> {
    return this.reached("runs", (state) => this.#runs(state));
  }

  /** Waits until every worker runs in this epoch. */
  restarted(epoch: number): Promise<GroupState> {
    return this.reached(`runs in epoch ${epoch}`, (state) => state.syncedEpoch === epoch && this.#runs(state));
  }

  /** Waits until every worker runs in a later epoch than this. */
  restartedSince(epoch: number): Promise<GroupState> {
    return this.reached(
      `runs in a later epoch than ${epoch}`,
      (state) => state.syncedEpoch > epoch && this.#runs(state),
    );
  }

  /** Waits until every worker runs, and none of these containers exists. */
  runningWithout(...gone: readonly Pick<Container, "id">[]): Promise<GroupState> {
    const ids = new Set(gone.map(({ id }) => id));
    return this.reached(`runs without ${[...ids].join(" and ")}`, (state) => {
      return this.#runs(state) && !state.pods.some(({ agent, worker }) => ids.has(agent.id) || ids.has(worker.id));
    });
  }

  /** Waits until the InPlaceRestart object exists and the condition holds. */
  async reached(what: string, condition: (state: GroupState) => boolean): Promise<GroupState> {
    let last: GroupState | undefined;
    try {
      return await waitFor(`${this.name} ${what}`, TIMEOUT_MS, async () => {
        last = await this.state();
        return last !== undefined && condition(last) ? last : undefined;
      });
    } catch (error) {
      throw new Error(`${this.name} never ${what}; last seen: ${JSON.stringify(last)}`, { cause: error });
    }
  }

  async state(): Promise<GroupState | undefined> {
    const [object, pods] = await Promise.all([this.#object(), this.pods()]);
    return object?.status === undefined ? undefined : { ...object.status, jobSetUid: object.jobSetUID, pods };
  }

  async jobSet(): Promise<JobSet> {
    return readJobSet(await this.#home.client.request("GET", `${this.#jobSets}/${this.name}`));
  }

  /** The JobSet's status as JobSet writes it. */
  async rawStatus(): Promise<Readonly<Record<string, unknown>>> {
    return asMap((await this.#home.client.request("GET", `${this.#jobSets}/${this.name}`))["status"]);
  }

  /** Waits until the JobSet is completed or failed. */
  async ended(): Promise<JobSet> {
    return await waitFor(`JobSet ${this.name} ends`, TIMEOUT_MS, async () => {
      const jobSet = await this.jobSet();
      return jobSet.outcome === "none" ? undefined : jobSet;
    });
  }

  async pods(): Promise<readonly PodState[]> {
    return await this.#podsWith(LABEL.injected);
  }

  /** Its Pods if it was not injected. */
  async plainPods(): Promise<readonly PodState[]> {
    return await this.#podsWith(`!${LABEL.injected}`);
  }

  async #podsWith(selector: string): Promise<readonly PodState[]> {
    const list = await this.#home.client.request("GET", `/api/v1/namespaces/${this.#home.namespace}/pods`, {
      query: { labelSelector: `${JOBSET.nameKey}=${this.name},${selector}` },
    });
    return asList(list["items"])
      .map(podState)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Waits until none of its Pods exists. */
  async gone(): Promise<void> {
    await waitFor(`the Pods of ${this.name} are gone`, TIMEOUT_MS, async () => (await this.pods()).length === 0);
  }

  /** Makes a worker exit with this code. */
  async exitWorker(pod: PodState, code: number, name = WORKER): Promise<void> {
    const command = ["sh", "-c", `echo ${code} > ${exitFile(name)}`];
    await this.#home.kubectl(["-n", this.#home.namespace, "exec", pod.name, "-c", name, "--", ...command]);
  }

  /**
   * When these Pods arrived at the barrier, with which epoch, and when their workers started, in which run. Read from
   * the logs of the running containers, because a Pod's status only has whole seconds.
   */
  async startOf(pods: readonly PodState[]): Promise<Start> {
    const arrivals = await Promise.all(pods.map((pod) => this.#said(pod, AGENT.container, "epoch published")));
    const starts = await Promise.all(pods.map((pod) => this.#said(pod, WORKER, "run ")));
    return {
      arrived: arrivals.map(({ line }) => JSON.parse(line).epoch),
      lastArrival: Math.max(...arrivals.map(({ at }) => at)),
      started: starts.map(({ line }) => Number(line.replace("run ", ""))),
      firstStart: Math.min(...starts.map(({ at }) => at)),
      lastStart: Math.max(...starts.map(({ at }) => at)),
    };
  }

  async #said(
    pod: PodState,
    container: string,
    words: string,
  ): Promise<{ readonly at: number; readonly line: string }> {
    return await waitFor(`${container} of ${pod.name} says ${words}`, TIMEOUT_MS, async () => {
      const args = ["-n", this.#home.namespace, "logs", "--timestamps", pod.name, "-c", container];
      const found = (await this.#home.kubectl(args)).split("\n").find((line) => line.includes(words));
      if (found === undefined) return undefined;
      const end = found.indexOf(" ");
      return { at: Date.parse(found.slice(0, end)), line: found.slice(end + 1) };
    });
  }

  #runs(state: GroupState): boolean {
    const { syncedEpoch, deprecatedEpoch, phase } = state;
    // A Job keeps a failed Pod beside its replacement, and a deleted one until it has terminated.
    const pods = state.pods.filter((pod) => pod.phase !== "Failed" || pod.terminating);
    return (
      deprecatedEpoch < syncedEpoch &&
      phase === "Running" &&
      pods.length === this.#size &&
      pods.every(
        (pod) => pod.phase === "Succeeded" || (pod.worker.running && pod.epoch === syncedEpoch && !pod.terminating),
      )
    );
  }

  async #object(): Promise<ReturnType<typeof readInPlaceRestart> | undefined> {
    const { group, version, plural } = IN_PLACE_RESTART;
    const path = `/apis/${group}/${version}/namespaces/${this.#home.namespace}/${plural}/${this.name}`;
    try {
      return readInPlaceRestart(await this.#home.client.request("GET", path));
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  }

  get #jobSets(): string {
    return `/apis/${JOBSET.group}/${JOBSET.version}/namespaces/${this.#home.namespace}/${JOBSET.plural}`;
  }
}

/** Sends SIGKILL to every process of these containers at once, from outside the Pod. */
export function kill(...containers: readonly Pick<Container, "id">[]): void {
  killContainers(...containers.map(({ id }) => id));
}

/** Sends SIGSTOP to every process of these containers: their workers hang. */
export function hang(...containers: readonly Pick<Container, "id">[]): void {
  hangContainers(...containers.map(({ id }) => id));
}

function podState(raw: unknown): PodState {
  const pod = readPod(raw);
  const metadata = asMap(asMap(raw)["metadata"]);
  const annotations = asMap(metadata["annotations"]);
  return {
    name: pod.name,
    uid: pod.uid,
    node: pod.node ?? "",
    address: asText(asMap(asMap(raw)["status"])["podIP"]) ?? "",
    stage: pod.replicatedJob,
    phase: pod.phase,
    terminating: pod.deletion !== undefined,
    epoch: Number(asText(annotations[JOBSET.epochAnnotation]) ?? Number.NaN),
    attempt: Number(asText(annotations[JOBSET.inPlaceRestartAttemptAnnotation]) ?? Number.NaN),
    hang: asText(annotations[HANG_ANNOTATION]) ?? "",
    worker: container(pod, WORKER),
    agent: container(pod, AGENT.container),
    containers: Object.fromEntries(pod.containers.map(({ name }) => [name, container(pod, name)])),
  };
}

function container(pod: Pod, name: string): Container {
  const status: ContainerStatus | undefined = pod.containers.find((each) => each.name === name);
  const running = status?.state.kind === "running";
  return {
    id: status?.containerID?.replace("containerd://", "") ?? "",
    restarts: status?.restartCount ?? 0,
    running,
    startedAt: running ? Date.parse(status.state.startedAt ?? "") : Number.NaN,
  };
}

const WORKER = "trainer";

function exitFile(name: string): string {
  return `/tmp/exit-${name}`;
}

/**
 * A worker that exits on a signal, or with the code in a file. The file is in /tmp, an emptyDir that survives a restart
 * in place. `first` is a shell command that the worker runs before it waits.
 */
export function worker(name = WORKER, first = "true"): Readonly<Record<string, unknown>> {
  const file = exitFile(name);
  const waiting = script(
    `rm -f ${file}`,
    countRuns("/tmp", name),
    'echo "run $RUN"',
    first,
    `while [ ! -e ${file} ]; do sleep 0.3; done`,
    `exit $(cat ${file})`,
  );
  return { ...scripted(waiting, name), volumeMounts: [{ name: "tmp", mountPath: "/tmp" }] };
}

/** A container that runs this shell script. */
export function scripted(text: string, name = WORKER): Readonly<Record<string, unknown>> {
  return { name, image: "local/busybox:1", command: ["sh", "-c", text] };
}

function jobSetOf(name: string, shape: GroupShape): object {
  const { stages, maxRestarts = 10, annotations = {}, failurePolicy = {}, spec = {} } = shape;
  const { stage = {}, job = {}, podSpec = {} } = shape;
  const replicatedJobs = Object.entries(stages).map(([stageName, pods]) => ({
    name: stageName,
    ...stage[stageName],
    template: {
      spec: {
        parallelism: pods,
        completions: pods,
        // So that maxRestarts alone is the budget.
        backoffLimit: 0,
        ...job[stageName],
        template: {
          spec: {
            terminationGracePeriodSeconds: 1,
            volumes: [{ name: "tmp", emptyDir: {} }],
            containers: [worker()],
            ...podSpec[stageName],
          },
        },
      },
    },
  }));
  return {
    apiVersion: `${JOBSET.group}/${JOBSET.version}`,
    kind: JOBSET.kind,
    metadata: { name, annotations },
    spec: { failurePolicy: { maxRestarts, ...failurePolicy }, replicatedJobs, ...spec },
  };
}

/** Its agent has published this epoch, and no worker runs yet. */
export function waitsIn(epoch: number, pod: PodState): boolean {
  return pod.epoch === epoch && pod.agent.running && !pod.worker.running && !pod.terminating;
}

/** The Pod in this position. Pods are ordered by name. */
export function podAt({ pods }: Pick<GroupState, "pods">, index: number): PodState {
  const pod = pods[index];
  if (pod === undefined) throw new Error(`there is no Pod ${index} among ${pods.length}`);
  return pod;
}

/** The first Pod of a replicatedJob. */
export function podOf({ pods }: Pick<GroupState, "pods">, stage: string): PodState {
  const pod = pods.find((each) => each.stage === stage);
  if (pod === undefined) throw new Error(`there is no Pod of ${stage} among ${pods.length}`);
  return pod;
}

export function uids({ pods }: Pick<GroupState, "pods">): readonly string[] {
  return pods.map(({ uid }) => uid);
}
