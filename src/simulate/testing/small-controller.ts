// What the controller of the small model may do next: see one more event, or write what it decided.
import { execute, type Writes } from "../../../controller/execute.ts";
import type { Step } from "./explore.ts";
import { withObjectNews } from "./small-kubelet.ts";
import { JOBSET, type PodVersion, podOfVersion, versionKey } from "./small-pods.ts";
import { KNOWN, OBJECTS, type State, statusOf } from "./small-state.ts";

/** `failures` is how many workers and agents were killed so far. */
export function controllerSteps(state: State, failures: number): readonly Step<State>[] {
  const steps: Step<State>[] = [];
  const step = (what: string, next: State, breach?: string) =>
    steps.push({ what: `controller: ${what}`, next, isFault: false, breach });
  const { podNews, objectNews, controller } = state;
  const [version, ...laterPods] = podNews;
  if (version !== undefined) {
    const next = { ...state, controller: seePod(controller, version), podNews: laterPods };
    step(`sees Pod ${version.pod} in epoch ${version.epoch}, ${version.status?.says}`, next);
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
      step(`writes ${OBJECTS.describe(written)}`, stored(state, written), writeBreach(state, written, failures));
  }
  return steps;
}

/** Another controller takes over, with a list of everything that exists. */
export function restartController(state: State): State {
  let controller = KNOWN.nothing;
  for (const [index, { epoch, status }] of state.pods.entries())
    controller = seePod(controller, { pod: index, epoch, status });
  if (state.object !== 0) controller = seeObject(controller, state.object);
  return { ...state, controller, podNews: [], objectNews: [] };
}

function seePod(group: number, version: PodVersion): number {
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

/** Every watch of the object has one more event to deliver. */
function stored(state: State, object: number): State {
  const pods = state.pods.map((pod) => withObjectNews(pod, object));
  return { ...state, object, pods, objectNews: [...state.objectNews, object] };
}

function writeBreach(state: State, written: number, failures: number): string | undefined {
  const [old, status] = [statusOf(state), OBJECTS.at(written)?.status];
  if (old === undefined || status === undefined) return undefined;
  if (status.syncedEpoch < old.syncedEpoch || status.deprecatedEpoch < old.deprecatedEpoch)
    return "an epoch moved back";
  if (status.deprecatedEpoch > status.syncedEpoch) return "an epoch ended that had not begun";
  if (status.restarts < old.restarts) return "a restart was forgotten";
  // This also ends the exploration of a group that would restart endlessly.
  return status.history.length > failures ? `${status.history.length} restarts for ${failures} failures` : undefined;
}
