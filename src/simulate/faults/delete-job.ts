// A user deletes a Job with background propagation: the Job goes at once, and the garbage collector deletes its Pods
// later.
import { type FaultDefinition, never } from "./fault.ts";

export const deleteJob: FaultDefinition = {
  text: "a user deletes a Job, and its Pods end after it",
  byRequest: true,
  mayCount: never,
  strike({ world, nodes, jobSets }) {
    const { api, random } = world;
    const job = random.pick(api.list("job").filter(({ outcome }) => outcome === "none"));
    if (job === undefined) return;
    world.tell("user", `deletes Job ${job.name}`);
    api.delete("job", job.uid);
    for (const pod of api.list("pod").filter(({ controller }) => controller?.uid === job.uid))
      world.after(10, 3_000, () => nodes.delete(pod.uid, { disrupted: false, forced: false }));
    jobSets.plan();
  },
};
