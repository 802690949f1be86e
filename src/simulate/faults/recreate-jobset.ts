// A user deletes the JobSet and creates it again at once under the same name, while the garbage collector still works.
import { COLLECTED_MS, deleteInPlaceRestart } from "../garbage-collector.ts";
import { JOB_SET } from "../shape.ts";
import { type FaultDefinition, never } from "./fault.ts";

export const recreateJobSet: FaultDefinition = {
  text: "the JobSet is deleted and created again under the same name",
  byRequest: true,
  mayCount: never,
  strike({ world, nodes, jobSets }) {
    const { api } = world;
    world.tell("user", "deletes the JobSet and creates it again");
    for (const { uid } of api.list("pod")) world.after(...COLLECTED_MS, () => nodes.remove(uid));
    for (const { uid } of api.list("job")) world.after(...COLLECTED_MS, () => api.delete("job", uid));
    api.delete("jobSet", JOB_SET);
    const owned = api.get("object", JOB_SET)?.metadata.uid;
    world.after(...COLLECTED_MS, () => {
      if (api.get("object", JOB_SET)?.metadata.uid === owned) deleteInPlaceRestart(world);
    });
    jobSets.create();
  },
};
