// A user requests a restart by hand, and a GitOps tool applies the same manifest again.
import { ANNOTATION } from "../../api/names.ts";
import type { Cluster } from "../cluster.ts";
import { JOB_SET } from "../shape.ts";
import { type FaultDefinition, never, RETRY_MS } from "./fault.ts";

/** Before, during and after the restart that the request leads to. */
const APPLIED_AGAIN_MS = [10, 30_000] as const;

export const requestRestart: FaultDefinition = {
  text: "a user requests a restart by hand",
  byRequest: true,
  mayCount: never,
  strike(cluster) {
    const { world, jobSets } = cluster;
    const { jobSet } = jobSets;
    if (jobSet === undefined) return;
    const request = world.uid("request");
    world.judge.requests.made(jobSet.uid, request, world.api.get("object", JOB_SET)?.status);
    annotate(cluster, jobSet.uid, request);
    world.after(...APPLIED_AGAIN_MS, () => applyAgain(cluster, jobSet.uid, request));
  },
};

function applyAgain(cluster: Cluster, uid: string, request: string): void {
  const { api, schedule } = cluster.world;
  if (api.isDown) schedule.after(RETRY_MS, () => applyAgain(cluster, uid, request));
  else annotate(cluster, uid, request);
}

function annotate({ world, jobSets }: Cluster, uid: string, request: string): void {
  const { jobSet } = jobSets;
  if (jobSet?.uid !== uid) return;
  world.tell("user", `requests a restart: ${request}`);
  const annotations = { ...jobSet.annotations, [ANNOTATION.restartRequest]: request };
  world.api.set("jobSet", JOB_SET, { ...jobSet, annotations, resourceVersion: world.api.nextVersion() });
}
