// The garbage collector of a simulation, as far as the group's own objects need it: a GroupEpoch goes some time after
// the InPlaceRestart that owns it, unless another one has taken it over by then.
import { JOB_SET } from "./shape.ts";
import type { World } from "./world.ts";

/** How long it takes for each object. */
export const COLLECTED_MS = [10, 3_000] as const;

export function deleteInPlaceRestart(world: World): void {
  const { api } = world;
  const owner = api.get("object", JOB_SET)?.metadata.uid;
  api.delete("object", JOB_SET);
  for (const { metadata } of api.list("groupEpoch")) {
    const isOwned = () => api.get("groupEpoch", metadata.name)?.metadata.owner === owner;
    if (isOwned()) world.after(...COLLECTED_MS, () => isOwned() && api.delete("groupEpoch", metadata.name));
  }
}
