// The defaults that JobSet's webhook sets on CREATE only. A client that sends its whole file again (kubectl replace, or
// a list in client-side apply) omits them. JobSet then rejects a forbidden change, or stores a JobSet that its
// controller cannot handle. So an UPDATE of an injected JobSet gets the stored defaults back. Pure.

import { isAbsent, isObject, listAt, mapShared, objectAt, withDefault, withList, withObject } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { changeJob, changePod } from "../parts/template.ts";

/**
 * Applies where the user set nothing and the stored value is the default. Any other difference is the user's change.
 */
function withStored(parent: JsonObject, stored: JsonObject | undefined, key: string, byDefault: Json): JsonObject {
  const value = stored?.[key];
  return isAbsent(value) || !equivalent(value, byDefault) ? parent : withDefault(parent, key, value);
}

export function withJobSetDefaults(spec: JsonObject, stored: JsonObject): JsonObject {
  let completed = withStored(spec, stored, "successPolicy", { operator: "All" });
  completed = withStored(completed, stored, "startupPolicy", { startupPolicyOrder: "AnyOrder" });
  const storedNetwork = objectAt(stored, "network");
  if (storedNetwork !== undefined) {
    completed = withObject(completed, "network", (network) =>
      ["enableDNSHostnames", "publishNotReadyAddresses"].reduce(
        (all, key) => withStored(all, storedNetwork, key, true),
        network,
      ),
    );
  }
  completed = withItems(completed, stored, "volumeClaimPolicies", (policy, storedPolicy) =>
    withStored(policy, storedPolicy, "retentionPolicy", { whenDeleted: "Delete" }),
  );
  const storedPolicy = objectAt(stored, "failurePolicy");
  if (storedPolicy === undefined || !isObject(completed["failurePolicy"])) return completed;
  return withObject(completed, "failurePolicy", (policy) =>
    withItems(policy, storedPolicy, "rules", (rule, storedRule, index) =>
      withStored(rule, storedRule, "name", `failurePolicyRule${index}`),
    ),
  );
}

/** For every replicatedJob, including those that do not participate. */
export function withReplicatedJobDefaults(replicatedJob: JsonObject, stored: JsonObject): JsonObject {
  const storedJob = objectAt(objectAt(stored, "template"), "spec");
  const storedPodSpec = objectAt(objectAt(storedJob, "template"), "spec");
  return changeJob(replicatedJob, (job) =>
    changePod(withStored(job, storedJob, "completionMode", "Indexed"), (pod) =>
      withObject(pod, "spec", (podSpec) => withStored(podSpec, storedPodSpec, "restartPolicy", "OnFailure")),
    ),
  );
}

function withItems(
  parent: JsonObject,
  stored: JsonObject,
  key: string,
  change: (item: JsonObject, stored: JsonObject, index: number) => JsonObject,
): JsonObject {
  const storedItems = listAt(stored, key);
  return withList(parent, key, (list) =>
    mapShared(list, (item, index) => {
      const storedItem = storedItems[index];
      return isObject(item) && isObject(storedItem) ? change(item, storedItem, index) : item;
    }),
  );
}
