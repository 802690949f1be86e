// What one Pod of the small model may do next: its kubelet, its worker, and its agent with the real decisions.
import { type AgentState, advance, decide } from "../../../agent/decide.ts";
import type { Step } from "./explore.ts";
import { newborn, type PodState, replacementOf, withoutAgent } from "./small-pods.ts";
import { OBJECTS, type State, versionOf, withPod, withPodNews } from "./small-state.ts";

export function podSteps(state: State, pod: PodState, index: number): readonly Step<State>[] {
  const steps: Step<State>[] = [];
  const step = (what: string, next: State, breach?: string) =>
    steps.push({ what: `Pod ${index}: ${what}`, next, isFault: false, breach });
  const change = (changed: PodState) => withPod(state, index, changed);
  const { agent, request, news, worker, noticed, started, unsent, incarnation, end } = pod;
  if (end === "evicted") step("the kubelet sends SIGTERM", change({ ...pod, end: "ending" }));
  if (end === "ending") {
    const ended = { ...withoutAgent(pod), worker: "none", end: "failed", unsent: undefined } as const;
    step("its containers have ended", withPodNews(change(ended), index));
  }
  if (end === "failed") {
    const gone = { ...state, podNews: [...state.podNews, { ...versionOf(pod, index), end: "gone" } as const] };
    step("the Job replaces it", withPodNews(withPod(gone, index, replacementOf(pod)), index));
    return steps;
  }
  // A Pod that is ending does not restart in place.
  const mayRestart = end !== "ending";
  if (mayRestart && (noticed || agent === undefined))
    step("all containers restart", change({ ...pod, ...newborn(incarnation + 1) }));
  if (mayRestart && worker === "failed" && !noticed && agent !== undefined)
    step("the kubelet notices the failure", change({ ...pod, noticed: true, unsent: { says: "failed", incarnation } }));
  if (unsent !== undefined) {
    const sent = change({ ...pod, status: unsent, unsent: undefined });
    step(`the kubelet reports: ${unsent.says}`, withPodNews(sent, index));
  }
  // The kubelet may not have noticed yet that the agent has exited since its probe succeeded.
  if (started > 0 && worker === "none" && !noticed && mayRestart) {
    const running = change({ ...pod, worker: "runs", unsent: { says: "running", incarnation } });
    step(`the worker starts in epoch ${started}`, running, startBreach(state, started));
  }
  steps.push(...reportSteps(state, pod, index));
  if (agent === undefined) return steps;
  if (request === "watch") step("the agent watches", change(settle({ ...pod, seen: state.told, news: [] }, agent)));
  if (request === "publish") {
    const published = advance(agent, { kind: "publish", epoch: agent.epoch ?? 0 });
    const epoch = agent.epoch ?? 0;
    const changed = settle({ ...pod, epoch, hang: 0, reached: Math.max(pod.reached, epoch) }, published);
    step(`the agent publishes epoch ${agent.epoch}`, withPodNews(change(changed), index));
  }
  const [next, ...later] = news;
  if (request === "none" && next !== undefined)
    step(`the agent sees ${OBJECTS.describe(next)}`, change(settle({ ...pod, seen: next, news: later }, agent)));
  return steps;
}

/** What the agent says about the progress of its worker. Its limit may pass at any time while nothing moves. */
function reportSteps(state: State, pod: PodState, index: number): readonly Step<State>[] {
  const { agent, worker, started, said, flight } = pod;
  const step = (what: string, next: State) => [{ what: `Pod ${index}: ${what}`, next, isFault: false }];
  if (flight !== 0) {
    const arrived = withPod(state, index, { ...pod, flight: 0, hang: Math.max(0, flight) });
    return step(`the report about epoch ${flight} arrives`, withPodNews(arrived, index));
  }
  const isStalled = worker === "runs" && started === state.stalled;
  if (agent === undefined || isStalled === said) return [];
  const next = withPod(state, index, { ...pod, said: isStalled, flight: isStalled ? started : -1 });
  return step(isStalled ? "the agent reports that the worker has stopped" : "the agent takes its report back", next);
}

/** The Pod after its watch got another version of the GroupEpoch. */
export function withEpochNews(pod: PodState, version: number): PodState {
  const { agent, request } = pod;
  if (agent === undefined || request === "watch") return pod;
  const informed = { ...pod, news: [...pod.news, version] };
  return request === "none" ? skipIgnored(informed, agent) : informed;
}

/** Lets the agent decide until it sends a request, exits, or has to wait. */
function settle(pod: PodState, agent: AgentState): PodState {
  const action = decide(agent, OBJECTS.view(pod.seen));
  switch (action.kind) {
    case "restart":
      return withoutAgent(pod);
    case "publish":
      return { ...pod, agent, request: action.kind };
    case "take":
      return settle(pod, advance(agent, action));
    case "lift":
      return settle({ ...pod, started: agent.epoch ?? 0 }, advance(agent, action));
    case "wait":
      return skipIgnored({ ...pod, agent, request: "none", seen: 0 }, agent);
  }
}

/** Drops events that the agent ignores: they have no visible effect, and only multiply the states. */
function skipIgnored(pod: PodState, agent: AgentState): PodState {
  const first = pod.news.findIndex((version) => decide(agent, OBJECTS.view(version)).kind !== "wait");
  return { ...pod, news: first === -1 ? [] : pod.news.slice(first) };
}

function startBreach({ pods }: State, epoch: number): string | undefined {
  if (pods.some(({ reached }) => reached < epoch))
    return `a worker started in epoch ${epoch} before every Pod reached it`;
  const runs = pods.filter(({ worker }) => worker === "runs");
  return runs.some(({ started }) => started !== epoch)
    ? `a worker started in epoch ${epoch} while one of another epoch runs`
    : undefined;
}
