// What the controller of the small model may do next: see one more event, write what it decided, or tell agents.
import { execute, type Writes } from "../../../controller/execute.ts";
import type { Step } from "./explore.ts";
import { withEpochNews } from "./small-kubelet.ts";
import { JOBSET, type PodVersion, podOfVersion, versionKey } from "./small-pods.ts";
import { KNOWN, OBJECTS, type State, statusOf, versionOf } from "./small-state.ts";

/** What has happened so far: workers and agents that were killed, and Pods that were evicted. */
export interface Toll {
  readonly failures: number;
  readonly evictions: number;
  /**
   * Faults that cost at most one restart: a pause, and an agent that died while it waited, if the group was synced
   * without its Pod.
   */
  readonly atBarrier: number;
}

export function controllerSteps(state: State, toll: Toll): readonly Step<State>[] {
  const steps: Step<State>[] = [];
  const step = (what: string, next: State, breach?: string) =>
    steps.push({ what: `controller: ${what}`, next, isFault: false, breach });
  const { podNews, objectNews, controller, untold } = state;
  const [version, ...laterPods] = podNews;
  if (version !== undefined) {
    const next = { ...state, controller: seePod(controller, version), podNews: laterPods };
    step(`sees Pod ${version.pod} in epoch ${version.epoch}, ${version.status?.says}, ${version.end}`, next);
  }
  const [object, ...laterObjects] = objectNews;
  if (object !== undefined) {
    const next = { ...state, controller: seeObject(controller, object), objectNews: laterObjects };
    step(`sees ${OBJECTS.describe(object)}`, next);
  }
  const { object: seen, decision } = KNOWN.decision(controller);
  // A decision on an older version is refused by the API server.
  if (decision !== undefined && (seen?.resourceVersion ?? "0") === String(state.object)) {
    for (const written of execute(decision, { jobSet: JOBSET, object: seen }, WRITES))
      step(`writes ${OBJECTS.describe(written)}`, stored(state, written), writeBreach(state, written, toll));
  }
  // A controller may die before it has told agents what it wrote. Then a later version is the next that they are told.
  for (const [index, epochs] of untold.entries())
    step(`tells agents ${OBJECTS.describe(epochs)}`, afterTold(state, epochs, untold.slice(index + 1)));
  return steps;
}

/** Another controller takes over, with a list of everything that exists. */
export function restartController(state: State): State {
  let controller = KNOWN.nothing;
  for (const [index, pod] of state.pods.entries()) controller = seePod(controller, versionOf(pod, index));
  if (state.object !== 0) controller = seeObject(controller, state.object);
  return { ...state, controller, podNews: [], objectNews: [] };
}

function seePod(group: number, version: PodVersion): number {
  if (version.end === "gone") return KNOWN.afterPodGone(group, podOfVersion(version).uid);
  return KNOWN.afterPod(group, versionKey(version), () => podOfVersion(version));
}

function seeObject(group: number, version: number): number {
  const object = OBJECTS.at(version);
  return object === undefined ? group : KNOWN.afterObject(group, object);
}

/** Each write returns the version of the object that it leads to. A decision is a single write in this model. */
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

/** The watch of the object has one more event to deliver. Agents are told of epochs only, by a request of its own. */
function stored(state: State, object: number): State {
  const epochs = OBJECTS.toldAs(object);
  const isNew = epochs !== (state.untold.at(-1) ?? state.told);
  const untold = isNew ? [...state.untold, epochs] : state.untold;
  return { ...state, object, untold, objectNews: [...state.objectNews, object] };
}

/** Every agent's watch has one more event to deliver. */
function afterTold(state: State, told: number, untold: readonly number[]): State {
  return { ...state, told, untold, pods: state.pods.map((pod) => withEpochNews(pod, told)) };
}

function writeBreach(state: State, written: number, toll: Toll): string | undefined {
  const { failures, evictions, atBarrier } = toll;
  const [old, status] = [statusOf(state), OBJECTS.at(written)?.status];
  if (old === undefined || status === undefined) return undefined;
  if (status.syncedEpoch < old.syncedEpoch || status.deprecatedEpoch < old.deprecatedEpoch)
    return "an epoch moved back";
  if (status.deprecatedEpoch > status.syncedEpoch) return "an epoch ended that had not begun";
  if (status.restarts < old.restarts) return "a restart was forgotten";
  const saver = state.pods.findIndex(({ end, worker }) => end !== "none" && worker === "runs");
  if (status.deprecatedEpoch > old.deprecatedEpoch && failures === 0 && saver !== -1)
    return `epoch ${status.deprecatedEpoch} ended while the worker of Pod ${saver} saves its work`;
  const isHung = status.history.length > old.history.length && status.history.at(-1)?.cause.reason === "Hung";
  // Unless its report is still on the way, every Pod says so that has not moved since.
  const moving = state.pods.findIndex(({ hang, flight }) => hang !== old.syncedEpoch && flight === 0);
  const isKnown = moving !== -1 && state.podNews.every(({ pod }) => pod !== moving);
  if (isHung && isKnown) return `epoch ${old.syncedEpoch} ended for a hang while Pod ${moving} moves`;
  // This also ends the exploration of a group that would restart endlessly.
  return status.history.length > failures + evictions + atBarrier
    ? `${status.history.length} restarts after ${JSON.stringify(toll)}`
    : undefined;
}
