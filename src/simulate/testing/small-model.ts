// Two Pods and a controller, small enough to go through everything that can happen to them, in any order: the real
// decisions of agent and controller between an API server, kubelets and watches of which nothing is promised but the
// order on each. Every message waits until the explorer delivers it; every kubelet does its next step when the explorer
// says so.
import { type AgentState, advance, decide } from "../../../agent/decide.ts";
import { execute, type Writes } from "../../../controller/execute.ts";
import type { Model, Step } from "./explore.ts";
import { KnownGroups } from "./known-groups.ts";
import { ObjectVersions, type Status } from "./object-versions.ts";
import {
  JOB,
  JOBSET,
  NOTHING_KEPT,
  newborn,
  newPods,
  type PodState,
  type PodVersion,
  podKey,
  podOfVersion,
  versionKey,
  withoutAgent,
} from "./small-pods.ts";

export type Fault = "kill-worker" | "kill-agent" | "kill-agent-at-barrier" | "kill-controller";

export interface State {
  /** The version of the InPlaceRestart at the API server; 0 when there is none. */
  readonly object: number;
  readonly pods: readonly PodState[];
  /** The number of what it knows, and the versions on their way to it, on a watch each. */
  readonly controller: number;
  readonly podNews: readonly PodVersion[];
  readonly objectNews: readonly number[];
  /** Those that may still strike. */
  readonly faults: readonly Fault[];
}

/** Shared by all models: what was asked once need not be asked again. */
const KNOWN = new KnownGroups(JOBSET, JOB);
const OBJECTS = new ObjectVersions({ jobSetUid: JOBSET.uid, replicatedJob: "workers" });

export class SmallModel implements Model<State> {
  readonly beginning: State;
  readonly #faultsInAll: readonly Fault[];

  /** From nothing, or from a group that runs. */
  constructor(from: "start" | "running", faults: readonly Fault[]) {
    this.#faultsInAll = faults;
    const start = this.#restartController({
      object: 0,
      pods: newPods(),
      controller: KNOWN.nothing,
      podNews: [],
      objectNews: [],
      faults,
    });
    this.beginning = from === "start" ? start : this.#calmed(start);
  }

  key({ object, pods, controller, podNews, objectNews, faults }: State): string {
    const versions = podNews.map(versionKey);
    return [object, ...pods.map(podKey), controller, versions, objectNews, faults].join("|");
  }

  isSettled(state: State): boolean {
    return this.#status(state)?.phase === "Running" && this.#ownSteps(state).length === 0;
  }

  /** What is wrong with a group in which everything that struck has had its effect. */
  judge(state: State): string | undefined {
    const { restarts = 0, syncedEpoch = 0, history = [] } = this.#status(state) ?? {};
    const failures = this.#failures(state);
    const counted = history.filter((record) => record.counted).length;
    // Of a group that ran, the first failure is never missed, and all are seen for what they are.
    const ran = this.#status(this.beginning) !== undefined;
    if (ran && failures > 0 && restarts === 0) return `${failures} failures were not counted`;
    if (restarts !== counted || (ran && counted !== history.length))
      return `${restarts} restarts were counted, and ${counted} of ${history.length} are on record`;
    if (syncedEpoch - this.#firstEpoch !== history.length)
      return `${history.length} restarts led to epoch ${syncedEpoch}`;
    const together = state.pods.every(({ worker, epoch }) => worker === "runs" && epoch === syncedEpoch);
    return together ? undefined : "not all run in one epoch";
  }

  /** How many workers and agents were killed so far. Where no worker can have run, nobody has failed. */
  #failures({ faults }: State): number {
    const open = (all: readonly Fault[]) => all.filter((fault) => !HARMLESS.has(fault)).length;
    return open(this.#faultsInAll) - open(faults);
  }

  get #firstEpoch(): number {
    return this.#status(this.beginning)?.syncedEpoch ?? 1;
  }

  steps(state: State): readonly Step<State>[] {
    return [...this.#ownSteps(state), ...this.#faults(state)];
  }

  /** What happens by itself. */
  #ownSteps(state: State): readonly Step<State>[] {
    return [...state.pods.flatMap((pod, index) => this.#podSteps(state, pod, index)), ...this.#controllerSteps(state)];
  }

  #podSteps(state: State, pod: PodState, index: number): readonly Step<State>[] {
    const steps: Step<State>[] = [];
    const step = (what: string, next: State, breach?: string) =>
      steps.push({ what: `Pod ${index}: ${what}`, next, isFault: false, breach });
    const change = (changed: PodState) => withPod(state, index, changed);
    const { agent, request, news, worker, noticed, kept, unsent, incarnation } = pod;
    if (noticed || agent === undefined)
      step("all containers restart", change({ ...pod, ...newborn(incarnation + 1, kept) }));
    if (worker === "failed" && !noticed && agent !== undefined)
      step(
        "the kubelet notices the failure",
        change({ ...pod, noticed: true, unsent: { says: "failed", incarnation } }),
      );
    if (unsent !== undefined)
      step(`the status goes out: ${unsent.says}`, told(change({ ...pod, status: unsent, unsent: undefined }), index));
    if (agent === undefined) return steps;
    if (request === "read")
      step("the agent reads", change(this.#settled({ ...pod, seen: state.object, news: [] }, agent, true)));
    if (request === "publish") {
      const published = advance(agent, { kind: "publish", epoch: agent.epoch ?? 0 });
      const changed = this.#settled({ ...pod, epoch: agent.epoch ?? 0 }, published, false);
      step(`the agent publishes epoch ${agent.epoch}`, told(change(changed), index));
    }
    const [next, ...later] = news;
    if (request === "none" && next !== undefined)
      step(
        `the agent sees ${OBJECTS.describe(next)}`,
        change(this.#settled({ ...pod, seen: next, news: later }, agent, false)),
      );
    if (agent.lifted && worker === "none" && !noticed) {
      const started = change({ ...pod, worker: "runs", unsent: { says: "running", incarnation } });
      step(`the worker starts in epoch ${agent.epoch}`, started, startBreach(state, agent.epoch ?? 0));
    }
    return steps;
  }

  #controllerSteps(state: State): readonly Step<State>[] {
    const steps: Step<State>[] = [];
    const step = (what: string, next: State, breach?: string) =>
      steps.push({ what: `controller: ${what}`, next, isFault: false, breach });
    const { podNews, objectNews, controller } = state;
    const [version, ...laterPods] = podNews;
    if (version !== undefined) {
      const next = { ...state, controller: this.#seesPod(controller, version), podNews: laterPods };
      step(`sees Pod ${version.pod} in epoch ${version.epoch}, ${version.status?.says}`, next);
    }
    const [object, ...laterObjects] = objectNews;
    if (object !== undefined) {
      const next = { ...state, controller: this.#seesObject(controller, object), objectNews: laterObjects };
      step(`sees ${OBJECTS.describe(object)}`, next);
    }
    const { object: seen, decision } = KNOWN.decision(controller);
    // A decision on an older version is refused by the API server.
    if (decision !== undefined && (seen?.resourceVersion ?? "0") === String(state.object)) {
      for (const written of execute(decision, { jobSet: JOBSET, object: seen }, WRITES))
        step(`writes ${OBJECTS.describe(written)}`, this.#announced(state, written), this.#writeBreach(state, written));
    }
    return steps;
  }

  #faults(state: State): readonly Step<State>[] {
    return [...new Set(state.faults)].flatMap((fault) => {
      const left = state.faults.toSpliced(state.faults.indexOf(fault), 1);
      const strike = (what: string, next: State) => ({
        what: `FAULT ${what}`,
        next: { ...next, faults: left },
        isFault: true,
      });
      if (fault === CONTROLLER) return [strike("the controller is replaced", this.#restartController(state))];
      // Both Pods are alike until the first fault: of two, the first may as well always strike the same one.
      const isFirst = state.faults.length === this.#faultsInAll.length && left.length > 0;
      return (isFirst ? state.pods.slice(0, 1) : state.pods).flatMap((pod, index) => {
        if (fault === "kill-worker" && pod.worker === "runs")
          return [strike(`the worker of Pod ${index} fails`, withPod(state, index, { ...pod, worker: "failed" }))];
        if (
          (fault === "kill-agent" && pod.agent !== undefined) ||
          (fault === AT_BARRIER && pod.agent?.lifted === false)
        )
          return [strike(`the agent of Pod ${index} is killed`, withPod(state, index, withoutAgent(pod)))];
        return [];
      });
    });
  }

  /**
   * Lets the agent decide until it asks, ends, or has no news that change anything: what it ignores, nobody can see.
   */
  #settled(pod: PodState, agent: AgentState, consistent: boolean): PodState {
    const action = decide(agent, OBJECTS.sighting(pod.seen, consistent));
    switch (action.kind) {
      case "restart":
        return withoutAgent(pod);
      case "read":
        return { ...pod, agent, request: action.kind };
      case "publish":
        return { ...pod, agent, request: action.kind, kept: action.epoch };
      case "take":
        return this.#settled(pod, advance(agent, action), consistent);
      case "lift": {
        const unsent = { says: "starting", incarnation: pod.incarnation } as const;
        return this.#settled({ ...pod, kept: NOTHING_KEPT, unsent }, advance(agent, action), consistent);
      }
      case "wait":
        return this.#attentive({ ...pod, agent, request: "none", seen: 0 }, agent);
    }
  }

  /** Without the news that it ignores. */
  #attentive(pod: PodState, agent: AgentState): PodState {
    const first = pod.news.findIndex((version) => decide(agent, OBJECTS.sighting(version, false)).kind !== "wait");
    return { ...pod, news: first === -1 ? [] : pod.news.slice(first) };
  }

  /** Another one takes over, with a list of everything that is there now. */
  #restartController(state: State): State {
    let controller = KNOWN.nothing;
    for (const [index, { epoch, status }] of state.pods.entries())
      controller = this.#seesPod(controller, { pod: index, epoch, status });
    if (state.object !== 0) controller = this.#seesObject(controller, state.object);
    return { ...state, controller, podNews: [], objectNews: [] };
  }

  #seesPod(group: number, version: PodVersion): number {
    return KNOWN.afterPod(group, versionKey(version), () => podOfVersion(version));
  }

  #seesObject(group: number, version: number): number {
    const object = OBJECTS.at(version);
    return object === undefined ? group : KNOWN.afterObject(group, object);
  }

  /** The watches of the object have one more to deliver. An agent's begins with what it has read. */
  #announced(state: State, object: number): State {
    const pods = state.pods.map((pod) => {
      const { agent, request } = pod;
      if (agent === undefined || request === "read") return pod;
      const informed = { ...pod, news: [...pod.news, object] };
      return request === "none" ? this.#attentive(informed, agent) : informed;
    });
    return { ...state, object, pods, objectNews: [...state.objectNews, object] };
  }

  #status(state: State): Status {
    return OBJECTS.at(state.object)?.status;
  }

  #writeBreach(state: State, written: number): string | undefined {
    const [old, status] = [this.#status(state), OBJECTS.at(written)?.status];
    if (old === undefined || status === undefined) return undefined;
    if (status.syncedEpoch < old.syncedEpoch || status.deprecatedEpoch < old.deprecatedEpoch)
      return "an epoch moved back";
    if (status.deprecatedEpoch > status.syncedEpoch) return "an epoch ended that had not begun";
    if (status.restarts < old.restarts) return "a restart was forgotten";
    // Also keeps a group that restarts for ever from being followed for ever.
    const failures = this.#failures(state);
    return status.history.length > failures ? `${status.history.length} restarts for ${failures} failures` : undefined;
  }

  /** What becomes of a state when nothing fails: any order leads there, so the first will do. */
  #calmed(state: State): State {
    let now = state;
    for (let [step] = this.#ownSteps(now); step !== undefined; [step] = this.#ownSteps(now)) now = step.next;
    return now;
  }
}

/** Each returns the version of the object that the write leads to. One decision is one write in this model. */
const WRITES: Writes<number> = {
  createObject: () => OBJECTS.numberOf(undefined),
  writeStatus: (_object, status) => OBJECTS.numberOf(status),
  deleteObject: () => notModelled("deleteObject"),
  failJobSet: () => notModelled("failJobSet"),
  deletePod: () => notModelled("deletePod"),
  failJob: () => notModelled("failJob"),
  decided: () => {},
};

function notModelled(write: string): never {
  throw new Error(`the model has no ${write}: no decision in it may lead there`);
}

const CONTROLLER: Fault = "kill-controller";
const AT_BARRIER: Fault = "kill-agent-at-barrier";
const HARMLESS: ReadonlySet<Fault> = new Set([CONTROLLER, AT_BARRIER]);

function withPod(state: State, index: number, pod: PodState): State {
  return { ...state, pods: state.pods.with(index, pod) };
}

/** The watch of Pods has one more to deliver. */
function told(state: State, index: number): State {
  const pod = state.pods[index];
  if (pod === undefined) return state;
  return { ...state, podNews: [...state.podNews, { pod: index, epoch: pod.epoch, status: pod.status }] };
}

function startBreach({ pods }: State, epoch: number): string | undefined {
  if (pods.some((pod) => pod.epoch < epoch)) return `a worker started in epoch ${epoch} before every Pod reached it`;
  const runs = pods.filter(({ worker }) => worker === "runs");
  return runs.some(({ agent, epoch: published }) => (agent?.epoch ?? published) !== epoch)
    ? `a worker started in epoch ${epoch} while another epoch's runs`
    : undefined;
}
