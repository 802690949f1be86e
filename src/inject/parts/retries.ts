// Retries of the containers that are not workers. Pure. Injection sets the Pod's restartPolicy to Never, and a download
// that fails once in an initContainer would then fail the Pod. Where the Pod said OnFailure, these containers keep it
// as their own policy (KEP-5307), and the kubelet retries them as before without restarting the group.
import { isAbsent, isObject, listAt, mapShared, textAt, withField, withList } from "../../json/edit.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { userContainers } from "./user-containers.ts";

const RETRY = "OnFailure";

/** Names of the containers that keep the OnFailure of a new Pod. */
export function containersToRetry(podSpec: JsonObject, workers: ReadonlySet<string>): ReadonlySet<string> {
  return retriesOnFailure(podSpec) ? namesWhere(podSpec, workers, isAbsent) : new Set();
}

/** Names of the containers that have OnFailure in a stored Pod. */
export function retriedContainers(podSpec: JsonObject, workers: ReadonlySet<string>): ReadonlySet<string> {
  return namesWhere(podSpec, workers, (policy) => policy === RETRY);
}

/** Must see the Pod's restartPolicy as the user wrote it. Where that is Never, nothing is added. */
export function withRetries(podSpec: JsonObject, names: ReadonlySet<string>): JsonObject {
  if (names.size === 0 || !retriesOnFailure(podSpec)) return podSpec;
  return ["initContainers", "containers"].reduce(
    (changed, key) => withList(changed, key, (list) => mapShared(list, (container) => withRetry(container, names))),
    podSpec,
  );
}

function withRetry(container: Json, names: ReadonlySet<string>): Json {
  if (!isObject(container) || !names.has(textAt(container, "name") ?? "")) return container;
  return isAbsent(container["restartPolicy"]) ? withField(container, "restartPolicy", RETRY) : container;
}

/** JobSet's webhook sets OnFailure where the user set nothing. */
function retriesOnFailure({ restartPolicy }: JsonObject): boolean {
  return isAbsent(restartPolicy) || restartPolicy === RETRY;
}

function namesWhere(
  podSpec: JsonObject,
  workers: ReadonlySet<string>,
  matches: (restartPolicy: Json | undefined) => boolean,
): ReadonlySet<string> {
  const regular = new Set(listAt(podSpec, "containers"));
  return new Set(
    userContainers(podSpec).flatMap((container) => {
      const name = textAt(container, "name");
      if (name === undefined || (regular.has(container) && workers.has(name))) return [];
      return matches(container["restartPolicy"]) ? [name] : [];
    }),
  );
}
