// A user suspends the JobSet and resumes it seconds later.
import type { Cluster } from "../cluster.ts";
import { JOB_SET } from "../shape.ts";
import { type FaultDefinition, RETRY_MS } from "./fault.ts";

export const suspend: FaultDefinition = {
  text: "the JobSet is suspended and resumed seconds later",
  byRequest: true,
  // A suspension that becomes visible only after the group is back looks like deleted Pods.
  mayCount: (struck) => struck.has("slow-watches"),
  strike(cluster) {
    const { world } = cluster;
    setSuspended(cluster, true);
    world.after(10, world.random.chance(0.3) ? 300 : 15_000, () => resume(cluster));
  },
};

function resume(cluster: Cluster): void {
  const { api, schedule } = cluster.world;
  if (api.isDown) schedule.after(RETRY_MS, () => resume(cluster));
  else setSuspended(cluster, false);
}

function setSuspended({ world, jobSets }: Cluster, suspended: boolean): void {
  const { jobSet } = jobSets;
  if (jobSet === undefined) return;
  world.tell("user", suspended ? "suspends the JobSet" : "resumes the JobSet");
  if (suspended) world.judge.jobSetSuspended(world.visibleAt);
  else world.judge.jobSetResumed();
  const lastTransitionTime = new Date(world.clock).toISOString();
  const condition = { type: "Suspended", status: suspended ? "True" : "False", reason: "", message: "" } as const;
  const conditions = [{ ...condition, lastTransitionTime }];
  world.api.set("jobSet", JOB_SET, { ...jobSet, suspended, conditions, resourceVersion: world.api.nextVersion() });
  jobSets.plan();
}
