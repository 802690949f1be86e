// A cluster with one group of any size, as the API server would show it: raw objects in lists and watches, without a
// server. It plays a recovery on demand. For tests, benchmarks and pictures.
import { type Availability, type Tally, timeSpent } from "../../api/availability.ts";
import { AGENT, COMPLETION_INDEX_LABEL, JOBSET, LABEL } from "../../api/names.ts";
import type { JsonObject } from "../../json/types.ts";
import type { CollectionQuery, CollectionReader } from "../../kube/reflector.ts";

type Collection = "inplacerestarts" | "jobsets" | "pods";

type WorkerState = "running" | "exited" | "stopped" | "waiting";

interface GeneratedPod {
  readonly index: number;
  readonly stage: string;
  epoch: number;
  worker: WorkerState;
  restarts: number;
}

interface Shape {
  readonly namespace: string;
  readonly name: string;
  /** Pods of each replicatedJob. */
  readonly stages: Readonly<Record<string, number>>;
  /** How long it has run without a failure. */
  readonly ranForMs?: number;
}

const PODS_PER_NODE = 8;
const HOUR_MS = 3_600_000;

export class GeneratedCluster implements CollectionReader {
  readonly server = "https://generated.invalid";
  readonly pods: readonly GeneratedPod[];
  readonly #shape: Shape;
  readonly #watchers: Record<Collection, Set<Watcher>> = {
    inplacerestarts: new Set(),
    jobsets: new Set(),
    pods: new Set(),
  };
  #version = 1;
  #status: Record<string, unknown>;
  readonly #history: Record<string, unknown>[] = [];
  #epoch = 1;
  #availability: Availability;
  #blamed: GeneratedPod | undefined;

  constructor(shape: Shape) {
    this.#shape = shape;
    this.pods = Object.entries(shape.stages).flatMap(([stage, count]) =>
      Array.from({ length: count }, (_, index) => ({
        index,
        stage,
        epoch: 1,
        worker: "running" as WorkerState,
        restarts: 0,
      })),
    );
    this.#availability = {
      state: "Running",
      since: new Date(Date.now() - (shape.ranForMs ?? HOUR_MS)).toISOString(),
      spent: { Waiting: 5_000, Running: 0, Restarting: 0, Suspended: 0 },
      restarts: 0,
      lastEpoch: 1,
      causes: [],
      blamedPods: [],
      blamedNodes: [],
    };
    this.#status = this.#statusOf("Running", { deprecatedEpoch: 0 });
  }

  get epoch(): number {
    return this.#epoch;
  }

  async request(_method: "GET", path: string, { query }: { readonly query: CollectionQuery }): Promise<JsonObject> {
    const all = this.#objects(collectionOf(path));
    const from = Number(query["continue"] ?? 0);
    const to = from + Number(query["limit"] ?? all.length);
    const next = to < all.length ? { continue: String(to) } : {};
    return { metadata: { resourceVersion: String(this.#version), ...next }, items: [...all.slice(from, to)] };
  }

  async stream(path: string, { signal }: { readonly signal: AbortSignal }): Promise<AsyncIterable<Uint8Array>> {
    const watchers = this.#watchers[collectionOf(path)];
    const watcher = new Watcher(() => watchers.delete(watcher), signal);
    watchers.add(watcher);
    return watcher;
  }

  /** A worker exits: the epoch has ended, and a restart is open. */
  fail(position: number, message: string): void {
    const pod = this.pods[position];
    if (pod === undefined) throw new Error(`there is no Pod ${position}`);
    this.change([pod], { worker: "exited" });
    const now = new Date().toISOString();
    const cause = { reason: "ContainerExited", pod: this.#podName(pod), container: "worker", exitCode: 1, message };
    const record = { cause, action: "RestartInPlace", rule: "end-epoch", fromEpoch: this.#epoch, counted: true };
    this.#history.push({ ...record, failureSeen: now, deprecated: now });
    this.#blamed = pod;
    this.#write("Restarting", { deprecatedEpoch: this.#epoch });
  }

  /** These Pods restart; their agents publish the next epoch. */
  arrive(pods: readonly GeneratedPod[]): void {
    for (const pod of pods) pod.restarts += 1;
    this.change(pods, { epoch: this.#epoch + 1, worker: "waiting" });
  }

  /** Every Pod has arrived: the next epoch runs. */
  lift(): void {
    const fromEpoch = this.#epoch;
    this.#epoch += 1;
    const now = new Date().toISOString();
    Object.assign(this.#history.at(-1) ?? {}, { allRestarted: now, synced: now, toEpoch: this.#epoch });
    this.#countRestart();
    this.#write("Restarting", { deprecatedEpoch: fromEpoch });
  }

  /** Every worker runs: the restart is over. */
  finish(): void {
    Object.assign(this.#history.at(-1) ?? {}, { allRunning: new Date().toISOString() });
    this.#write("Running", { deprecatedEpoch: this.#epoch - 1 });
  }

  change(pods: readonly GeneratedPod[], change: Partial<Pick<GeneratedPod, "epoch" | "worker">>): void {
    for (const pod of pods) {
      Object.assign(pod, change);
      this.#send("pods", this.#podObject(pod));
    }
  }

  #countRestart(): void {
    const account = this.#availability;
    const pod = this.#blamed;
    if (pod === undefined) return;
    this.#availability = {
      ...account,
      restarts: account.restarts + 1,
      lastEpoch: this.#epoch,
      causes: counted(account.causes, "ContainerExited"),
      blamedPods: counted(account.blamedPods, this.#podName(pod)),
      blamedNodes: counted(account.blamedNodes, nodeOf(pod)),
    };
  }

  #write(phase: "Running" | "Restarting", change: { readonly deprecatedEpoch: number }): void {
    const now = Date.now();
    const account = this.#availability;
    if (account.state !== phase) {
      const since = new Date(now).toISOString();
      this.#availability = { ...account, state: phase, since, spent: timeSpent(account, now) };
    }
    this.#status = this.#statusOf(phase, change);
    this.#send("inplacerestarts", this.#object());
  }

  #statusOf(phase: string, { deprecatedEpoch }: { readonly deprecatedEpoch: number }): Record<string, unknown> {
    const isBetween = deprecatedEpoch === this.#epoch;
    const ready = this.pods.filter(({ worker }) => worker === "running").length;
    const since = new Date().toISOString();
    const condition = (type: string, isTrue: boolean, message: string) => {
      return { type, status: isTrue ? "True" : "False", reason: phase, message, lastTransitionTime: since };
    };
    return {
      deprecatedEpoch,
      syncedEpoch: this.#epoch,
      heldStages: [],
      restarts: this.#history.length,
      phase,
      ready: `${ready}/${this.pods.length}`,
      history: this.#history.slice(-10).map((record) => ({ ...record })),
      availability: this.#availability,
      conditions: [
        condition("Ready", phase === "Running", ""),
        condition("AtBarrier", isBetween, `waiting for every Pod to reach epoch ${this.#epoch + 1}`),
      ],
    };
  }

  #send(collection: Collection, object: JsonObject): void {
    const line = `${JSON.stringify({ type: "MODIFIED", object })}\n`;
    for (const watcher of this.#watchers[collection]) watcher.push(line);
  }

  #objects(collection: Collection): readonly JsonObject[] {
    if (collection === "pods") return this.pods.map((pod) => this.#podObject(pod));
    return collection === "jobsets" ? [this.#jobSet()] : [this.#object()];
  }

  #object(): JsonObject {
    return {
      metadata: this.#metadata(this.#shape.name),
      spec: { jobSetUID: this.#uid },
      status: this.#status,
    } as JsonObject;
  }

  #jobSet(): JsonObject {
    const metadata = { ...this.#metadata(this.#shape.name), uid: this.#uid };
    return { metadata, spec: { failurePolicy: { maxRestarts: 100 } } } as JsonObject;
  }

  #podObject(pod: GeneratedPod): JsonObject {
    const { stage, index, epoch, worker, restarts } = pod;
    const labels = {
      [LABEL.injected]: "true",
      [JOBSET.nameKey]: this.#shape.name,
      [JOBSET.uidKey]: this.#uid,
      [JOBSET.replicatedJobKey]: stage,
      [JOBSET.jobIndexKey]: "0",
      [COMPLETION_INDEX_LABEL]: String(index),
    };
    const agent = { name: AGENT.container, started: true, ready: true, restartCount: restarts, state: { running: {} } };
    return {
      metadata: {
        ...this.#metadata(this.#podName(pod)),
        labels,
        annotations: { [JOBSET.epochAnnotation]: String(epoch) },
      },
      spec: { nodeName: nodeOf(pod) },
      status: {
        phase: "Running",
        initContainerStatuses: [agent],
        containerStatuses: [{ name: "worker", restartCount: restarts, ready: true, state: STATES[worker] }],
      },
    };
  }

  get #uid(): string {
    return `uid-of-${this.#shape.name}`;
  }

  #podName({ stage, index }: GeneratedPod): string {
    return `${this.#shape.name}-${stage}-0-${index}-x7k2p`;
  }

  #metadata(name: string): JsonObject {
    const resourceVersion = String(this.#version++);
    return { name, namespace: this.#shape.namespace, uid: `uid-${name}`, resourceVersion };
  }
}

function nodeOf({ index }: GeneratedPod): string {
  return `node-${Math.floor(index / PODS_PER_NODE)}`;
}

function counted(tallies: readonly Tally[], name: string): readonly Tally[] {
  const restarts = tallies.find((tally) => tally.name === name)?.restarts ?? 0;
  return [{ name, restarts: restarts + 1 }, ...tallies.filter((tally) => tally.name !== name)];
}

const STATES: Readonly<Record<WorkerState, JsonObject>> = {
  running: { running: {} },
  exited: { terminated: { exitCode: 1, reason: "Error" } },
  stopped: { terminated: { exitCode: 143, reason: "Error" } },
  waiting: { waiting: { reason: "PodInitializing" } },
};

function collectionOf(path: string): Collection {
  const last = path.slice(path.lastIndexOf("/") + 1);
  if (last === "pods" || last === "jobsets" || last === "inplacerestarts") return last;
  throw new Error(`unknown collection: ${path}`);
}

/** One open watch: lines wait until they are read. */
class Watcher implements AsyncIterable<Uint8Array> {
  readonly #onEnd: () => void;
  readonly #signal: AbortSignal;
  #waiting: string[] = [];
  #wake: () => void = () => {};

  constructor(onEnd: () => void, signal: AbortSignal) {
    this.#onEnd = onEnd;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake());
  }

  push(line: string): void {
    this.#waiting.push(line);
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      while (!this.#signal.aborted) {
        if (this.#waiting.length === 0) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
        const text = this.#waiting.join("");
        this.#waiting = [];
        yield Buffer.from(text);
      }
    } finally {
      this.#onEnd();
    }
  }
}
