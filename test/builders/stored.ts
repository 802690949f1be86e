// What the cluster adds to an injected JobSet before it is stored: the defaults of the CRD and of JobSet's webhook, and
// the empty structs of Go's encoding. A client that applies its file again sends none of it.

import { isObject, listAt, objectAt } from "../../src/json/edit.ts";
import type { Json, JsonObject } from "../../src/json/types.ts";

export function stored(injected: JsonObject): JsonObject {
  const object = withCrdDefaults(injected);
  const spec = objectAt(object, "spec") ?? {};
  setDefault(spec, "successPolicy", { operator: "All" });
  setDefault(spec, "startupPolicy", { startupPolicyOrder: "AnyOrder" });
  setDefault(spec, "network", {});
  setDefault(objectAt(spec, "network") ?? {}, "enableDNSHostnames", true);
  setDefault(objectAt(spec, "network") ?? {}, "publishNotReadyAddresses", true);
  listAt(objectAt(spec, "failurePolicy"), "rules")
    .filter(isObject)
    .forEach((rule, index) => {
      setDefault(rule, "name", `failurePolicyRule${index}`);
    });
  for (const job of listAt(spec, "replicatedJobs").filter(isObject)) {
    setDefault(objectAt(job, "template") ?? {}, "metadata", {});
    const jobSpec = objectAt(objectAt(job, "template"), "spec") ?? {};
    const pod = objectAt(jobSpec, "template") ?? {};
    const podSpec = objectAt(pod, "spec") ?? {};
    setDefault(jobSpec, "completionMode", "Indexed");
    setDefault(podSpec, "restartPolicy", "OnFailure");
    setDefault(pod, "metadata", {});
    for (const container of [...listAt(podSpec, "containers"), ...listAt(podSpec, "initContainers")].filter(isObject)) {
      setDefault(container, "resources", {});
      for (const amounts of ["limits", "requests"]) respell(objectAt(objectAt(container, "resources"), amounts) ?? {});
    }
  }
  Object.assign(objectAt(object, "metadata") ?? {}, { uid: "8d3f", resourceVersion: "7", generation: 1 });
  object["status"] = { restarts: 0 };
  return object;
}

/** The API server applies these to every request before it calls the webhook. */
export function withCrdDefaults(object: JsonObject): JsonObject {
  const copy = structuredClone(object);
  const spec = objectAt(copy, "spec") ?? {};
  setDefault(objectAt(spec, "failurePolicy") ?? {}, "restartStrategy", "Recreate");
  for (const job of listAt(spec, "replicatedJobs").filter(isObject)) {
    setDefault(job, "replicas", 1);
    setDefault(job, "groupName", "default");
  }
  return copy;
}

function setDefault(object: JsonObject, key: string, value: Json): void {
  if (!Object.hasOwn(object, key)) object[key] = value;
}

/** Quantities as Go prints them, for those that tests use. */
const CANONICAL: Readonly<Record<string, string>> = { "0.5": "500m", "1000m": "1", "1024Mi": "1Gi" };

function respell(amounts: JsonObject): void {
  for (const [name, value] of Object.entries(amounts)) amounts[name] = CANONICAL[String(value)] ?? String(value);
}
