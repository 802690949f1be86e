// Two Pods and a controller: small enough to explore everything that can happen to them, in every order. The decisions
// of agents and controller are the real ones. Events of one watch arrive in order; nothing else is ordered. Every event
// waits until the explorer delivers it, and every kubelet acts when the explorer says so.
import type { AgentState } from "../../../agent/decide.ts";
import type { Model, Step } from "./explore.ts";
import { controllerSteps, restartController, type Toll } from "./small-controller.ts";
import { podSteps } from "./small-kubelet.ts";
import { newPods, podKey, versionKey, withoutAgent } from "./small-pods.ts";
import { type Fault, KNOWN, type State, statusOf, withPod, withPodNews } from "./small-state.ts";

const CONTROLLER: Fault = "kill-controller";
const EVICTION: Fault = "evict-pod";
const PAUSE: Fault = "pause";
const AT_BARRIER: Fault = "kill-agent-at-barrier";
/** Faults after which no restart is due. */
const HARMLESS: ReadonlySet<Fault> = new Set([CONTROLLER, "kill-new-agent"]);

export class SmallModel implements Model<State> {
  readonly beginning: State;
  readonly #allFaults: readonly Fault[];

  /** Begins before the first Pod has started, or with a group that runs. */
  constructor(from: "start" | "running", faults: readonly Fault[]) {
    this.#allFaults = faults;
    const atServer = { object: 0, told: 0, untold: [], pods: newPods(), stalled: 0, pauses: false };
    const start = restartController({ ...atServer, controller: KNOWN.nothing, podNews: [], objectNews: [], faults });
    this.beginning = from === "start" ? start : this.#runUntilIdle(start);
  }

  key({ object, told, untold, pods, controller, podNews, objectNews, stalled, pauses, faults }: State): string {
    const versions = podNews.map(versionKey);
    return [object, told, untold, ...pods.map(podKey), controller, versions, objectNews, stalled, pauses, faults].join(
      "|",
    );
  }

  isSettled(state: State): boolean {
    return statusOf(state)?.phase === "Running" && this.#ownSteps(state).length === 0;
  }

  /** What is wrong with a settled group. */
  judge(state: State): string | undefined {
    const { restarts = 0, syncedEpoch = 0, history = [] } = statusOf(state) ?? {};
    const { failures, evictions, atBarrier } = this.#toll(state);
    const counted = history.filter((record) => record.counted).length;
    // In a group that ran, the first failure is never missed, and every failure is attributed correctly.
    const ran = statusOf(this.beginning) !== undefined;
    const isAttributed = ran && evictions === 0;
    if (isAttributed && failures > 0 && restarts === 0) return `${failures} failures were not counted`;
    if (failures + atBarrier === 0 && restarts > 0) return `${restarts} restarts were counted without a failure`;
    if (restarts !== counted || (isAttributed && counted !== history.length))
      return `${restarts} restarts were counted, and ${counted} of ${history.length} are on record`;
    if (syncedEpoch - this.#firstEpoch !== history.length)
      return `${history.length} restarts led to epoch ${syncedEpoch}`;
    const together = state.pods.every(({ worker, epoch }) => worker === "runs" && epoch === syncedEpoch);
    return together ? undefined : "not all run in one epoch";
  }

  steps(state: State): readonly Step<State>[] {
    return [...this.#ownSteps(state), ...this.#faultSteps(state)];
  }

  /** What happens without a fault. */
  #ownSteps(state: State): readonly Step<State>[] {
    const ofPods = state.pods.flatMap((pod, index) => podSteps(state, pod, index));
    const resumed = { ...state, stalled: 0, pauses: false };
    const moves = state.pauses ? [{ what: "the workers move again", next: resumed, isFault: false }] : [];
    return [...ofPods, ...controllerSteps(state, this.#toll(state)), ...moves];
  }

  #faultSteps(state: State): readonly Step<State>[] {
    return [...new Set(state.faults)].flatMap((fault) => {
      const left = state.faults.toSpliced(state.faults.indexOf(fault), 1);
      const strike = (what: string, next: State) => ({
        what: `FAULT ${what}`,
        next: { ...next, faults: left },
        isFault: true,
      });
      if (fault === CONTROLLER) return [strike("the controller is replaced", restartController(state))];
      if (fault === "hang" || fault === PAUSE) {
        const [epoch = 0, ...others] = state.pods.map(({ worker, started }) => (worker === "runs" ? started : 0));
        if (epoch === 0 || others.some((other) => other !== epoch)) return [];
        return [strike(`the workers stop, ${fault}`, { ...state, stalled: epoch, pauses: fault === PAUSE })];
      }
      // Both Pods are alike until the first fault, so the first of two faults may always strike the same Pod.
      const isFirst = state.faults.length === this.#allFaults.length && left.length > 0;
      return (isFirst ? state.pods.slice(0, 1) : state.pods).flatMap((pod, index) => {
        if (fault === EVICTION && pod.end === "none")
          return [
            strike(`Pod ${index} is evicted`, withPodNews(withPod(state, index, { ...pod, end: "evicted" }), index)),
          ];
        if (fault === "kill-worker" && pod.worker === "runs")
          return [strike(`the worker of Pod ${index} fails`, withPod(state, index, { ...pod, worker: "failed" }))];
        if (pod.agent !== undefined && strikesAgent(fault, pod.agent))
          return [strike(`the agent of Pod ${index} is killed`, withPod(state, index, withoutAgent(pod)))];
        return [];
      });
    });
  }

  #toll({ faults }: State): Toll {
    const struck = (counts: (fault: Fault) => boolean) =>
      this.#allFaults.filter(counts).length - faults.filter(counts).length;
    return {
      failures: struck(
        (fault) => fault !== EVICTION && fault !== AT_BARRIER && fault !== PAUSE && !HARMLESS.has(fault),
      ),
      evictions: struck((fault) => fault === EVICTION),
      atBarrier: struck((fault) => fault === AT_BARRIER || fault === PAUSE),
    };
  }

  get #firstEpoch(): number {
    return statusOf(this.beginning)?.syncedEpoch ?? 1;
  }

  /** Without faults every order leads to the same state, so the first step is always good enough. */
  #runUntilIdle(state: State): State {
    let now = state;
    for (let [step] = this.#ownSteps(now); step !== undefined; [step] = this.#ownSteps(now)) now = step.next;
    return now;
  }
}

function strikesAgent(fault: Fault, { published, lifted }: AgentState): boolean {
  if (fault === "kill-new-agent") return !published;
  if (fault === AT_BARRIER) return published && !lifted;
  return fault === "kill-agent";
}
