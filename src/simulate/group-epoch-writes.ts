// The writes of a GroupEpoch, as the API server of the simulation performs them, with the rules of its CRD.
import { isDeepStrictEqual } from "node:util";
import type { StoredGroupEpoch } from "./api-server.ts";
import type { AtServer } from "./controller-writes.ts";
import type { World } from "./world.ts";

export function patchGroupEpoch({ api, judge }: World, next: StoredGroupEpoch): AtServer {
  return () => {
    const { name } = next.metadata;
    const stored = api.get("groupEpoch", name);
    if (stored === undefined) return "not-found";
    if (next.spec.version < stored.spec.version) return "conflict";
    // A patch that changes nothing causes no event.
    if (isDeepStrictEqual(stored, next)) return "done";
    judge.agentsTold(stored, next);
    api.set("groupEpoch", name, next);
    return "done";
  };
}

export function createGroupEpoch({ api, judge }: World, created: StoredGroupEpoch): AtServer {
  return () => {
    const { name } = created.metadata;
    if (api.get("groupEpoch", name) !== undefined) return "exists";
    judge.agentsTold(undefined, created);
    api.set("groupEpoch", name, created);
    return "done";
  };
}
