// What JobSet's own webhook fills in on CREATE, and only there. A client that sends its whole file again (replace, or a
// list in client-side apply) leaves it out, and JobSet takes that for a forbidden change, or stores a JobSet that its
// controller cannot handle. So on UPDATE of an injected JobSet a default that is stored comes back. Pure.

import { isAbsent, isObject, listAt, mapShared, objectAt, withDefault, withList, withObject } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { changeJob, changePod } from "../parts/template.ts";

/** Where the user wrote nothing and the stored object has the default. Any other difference is a change, and stays one. */
function withStored(parent: JsonObject, stored: JsonObject | undefined, key: string, byDefault: Json): JsonObject {
  const value = stored?.[key];
  return isAbsent(value) || !equivalent(value, byDefault) ? parent : withDefault(parent, key, value);
}

export function withJobSetDefaults(spec: JsonObject, stored: JsonObject): JsonObject {
  let restored = withStored(spec, stored, "successPolicy", { operator: "All" });
  restored = withStored(restored, stored, "startupPolicy", { startupPolicyOrder: "AnyOrder" });
  const storedNetwork = objectAt(stored, "network");
  if (storedNetwork !== undefined) {
    restored = withObject(restored, "network", (network) =>
      ["enableDNSHostnames", "publishNotReadyAddresses"].reduce(
        (all, key) => withStored(all, storedNetwork, key, true),
        network,
      ),
    );
  }
  restored = withItems(restored, stored, "volumeClaimPolicies", (policy, storedPolicy) =>
    withStored(policy, storedPolicy, "retentionPolicy", { whenDeleted: "Delete" }),
  );
  const storedPolicy = objectAt(stored, "failurePolicy");
  if (storedPolicy === undefined || !isObject(restored["failurePolicy"])) return restored;
  return withObject(restored, "failurePolicy", (policy) =>
    withItems(policy, storedPolicy, "rules", (rule, storedRule, index) =>
      withStored(rule, storedRule, "name", `failurePolicyRule${index}`),
    ),
  );
}

/** For every replicatedJob, also those that do not take part. */
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
