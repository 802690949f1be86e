// The writes of a simulated controller, as the API server of the simulation performs them: fenced by UID and version,
// like the real ones.
import type { Writes } from "../../controller/execute.ts";
import { type InPlaceRestart, readInPlaceRestart } from "../api/in-place-restart.ts";
import type { Refusal, StoredObject } from "./api-server.ts";
import { deleteInPlaceRestart } from "./garbage-collector.ts";
import type { JobController } from "./job-controller.ts";
import type { JobSetController } from "./jobset-controller.ts";
import type { Nodes } from "./nodes.ts";
import type { PolicyJudge } from "./policy-judge.ts";
import { JOB_SET } from "./shape.ts";
import type { World } from "./world.ts";

/** What a controller writes to. */
export interface ControlledCluster {
  readonly world: World;
  readonly nodes: Nodes;
  readonly jobs: JobController;
  readonly jobSets: JobSetController;
  readonly policies: PolicyJudge;
}

/** Runs when the request reaches the server. */
export type AtServer = () => "done" | Refusal;

/** The JobSet fails by a rule of its own failurePolicy. */
const BY_RULE = "FailJobSetFailurePolicyAction";

type Status = NonNullable<StoredObject["status"]>;

/** `tell` adds a line to the timeline. `onStatus` gets each InPlaceRestart as it was stored. */
export function simulatedWrites(
  { world, nodes, jobs, jobSets, policies }: ControlledCluster,
  tell: (what: string) => void,
  onStatus: (written: InPlaceRestart) => void,
): Writes<AtServer> {
  const { api, judge } = world;
  const store = (after: StoredObject): "done" => {
    const before = api.get("object", JOB_SET);
    judge.objectWritten(before, after);
    policies.objectWritten(before, after);
    if ((before?.status?.syncedEpoch ?? 0) === 0) world.failures.beginAnew();
    api.set("object", JOB_SET, after);
    return "done";
  };
  return {
    createObject: (jobSet) => () => {
      if (api.get("object", JOB_SET) !== undefined) return "exists";
      const { name, namespace } = jobSet;
      const metadata = { name, namespace, uid: world.uid("object"), resourceVersion: api.nextVersion() };
      tell("creates the InPlaceRestart");
      return store({ metadata, spec: { jobSetUID: jobSet.uid } });
    },
    deleteObject: (object) => () => {
      if (api.get("object", JOB_SET)?.metadata.uid !== object.uid) return "not-found";
      tell("deletes the InPlaceRestart of an earlier JobSet");
      deleteInPlaceRestart(world);
      return "done";
    },
    writeStatus: (object, status) => () => {
      const stored = api.get("object", JOB_SET);
      if (stored === undefined) return "not-found";
      if (stored.metadata.resourceVersion !== object.resourceVersion) return "conflict";
      tell(describe(stored.status, status));
      const resourceVersion = api.nextVersion();
      const written = { ...stored, metadata: { ...stored.metadata, resourceVersion }, status };
      onStatus(readInPlaceRestart(written));
      return store(written);
    },
    failJobSet:
      (seen, { reason, message }) =>
      () => {
        const jobSet = api.get("jobSet", JOB_SET);
        if (jobSet?.uid !== seen.uid) return "not-found";
        if (jobSet.resourceVersion !== seen.resourceVersion) return "conflict";
        tell(`fails the JobSet: ${message}`);
        policies.jobSetFailed(reason);
        // Without reprise too, a rule is applied to a victim of a disruption.
        if (reason !== BY_RULE) judge.jobSetFailed(jobSet.uid, api.get("object", JOB_SET)?.status?.syncedEpoch ?? 0);
        api.set("jobSet", JOB_SET, { ...jobSet, outcome: "Failed", resourceVersion: api.nextVersion() });
        return "done";
      },
    deletePod:
      (_jobSet, { name, uid }) =>
      () => {
        tell(`deletes Pod ${name}`);
        const { spec, status } = api.get("object", JOB_SET) ?? {};
        const record = status?.history.at(-1);
        if (spec !== undefined && record !== undefined) world.failures.moved(uid, spec.jobSetUID, record);
        return nodes.delete(uid, { disrupted: false, forced: false }) ? "done" : "not-found";
      },
    failJob:
      (_jobSet, { name, uid }) =>
      () => {
        tell(`fails Job ${name}`);
        if (!jobs.fail(uid)) return "not-found";
        jobSets.plan();
        return "done";
      },
    decided: () => {},
  };
}

function describe(before: Status | undefined, after: Status): string {
  const { deprecatedEpoch, syncedEpoch, restarts, heldStages, phase, ready, history } = after;
  const held = heldStages.length === 0 ? "" : `, held ${heldStages.join(" ")}`;
  const what = changeOf(before, after);
  const cause = history.at(-1)?.cause;
  const why = what === "deprecates" && cause !== undefined ? ` (${cause.reason} ${cause.pod ?? ""})` : "";
  const epochs = `deprecated ${deprecatedEpoch}, synced ${syncedEpoch}`;
  return `${what}: ${epochs}${held}, restarts ${restarts}, ${phase} ${ready}${why}`;
}

function changeOf(before: Status | undefined, after: Status): string {
  if (before === undefined) return "initializes";
  if (before.syncedEpoch !== after.syncedEpoch) return "syncs";
  return before.deprecatedEpoch === after.deprecatedEpoch ? "notes" : "deprecates";
}
