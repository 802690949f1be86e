// Reads what `reprise status` reports from the cluster: JobSets, their InPlaceRestarts and Pods. For users who may not
// read nodes, the state of nodes stays unknown.

import { IN_PLACE_RESTART, type InPlaceRestart, readInPlaceRestart } from "../../api/in-place-restart.ts";
import { type Job, readJob } from "../../api/job.ts";
import { readJobSet } from "../../api/jobset.ts";
import { JOBSET, LABEL } from "../../api/names.ts";
import { readNode } from "../../api/node.ts";
import { type Pod, readPod } from "../../api/pod.ts";
import { protocolOf } from "../../api/protocol.ts";
import { RepriseError } from "../../errors.ts";
import { hasStatus } from "../../kube/api-error.ts";
import type { KubeClient } from "../../kube/client.ts";
import { listAll } from "../../kube/list.ts";
import type { GroupReading, NodeState } from "../output/group-reading.ts";
import { collectionPath, orAbsent } from "./cluster-path.ts";
import { readProgress } from "./progress-reading.ts";

/** The groups of one or all namespaces. Does not read Pods: the conditions show what a group waits for. */
export async function readGroups(client: KubeClient, namespace: string | undefined): Promise<GroupReading[]> {
  const [objects, jobSets] = await Promise.all([
    listAll(client, objectsIn(namespace), readInPlaceRestart),
    listAll(client, jobSetsIn(namespace), readJobSet, `${LABEL.injected}=true`),
  ]);
  const byUid = new Map(jobSets.map((jobSet) => [jobSet.uid, jobSet]));
  return objects.map((object) => {
    const jobSet = byUid.get(object.jobSetUID);
    return { object, ...(jobSet === undefined ? {} : { jobSet }) };
  });
}

export async function readGroup(client: KubeClient, namespace: string, name: string): Promise<GroupReading> {
  const jobSet = await orAbsent(client.request("GET", `${jobSetsIn(namespace)}/${name}`));
  if (jobSet === undefined) throw new RepriseError("JOBSET_NOT_FOUND", { namespace, name });
  const raw = await orAbsent(client.request("GET", `${objectsIn(namespace)}/${name}`));
  const read = readJobSet(jobSet);
  const object: InPlaceRestart | undefined = raw === undefined ? undefined : readInPlaceRestart(raw);
  if (object?.jobSetUID !== read.uid) {
    const injected = read.labels[LABEL.injected] === "true";
    const upstream = protocolOf(read) === "jobset";
    throw new RepriseError("JOBSET_WITHOUT_GROUP", { namespace, name, injected, upstream });
  }
  const selector = `${JOBSET.nameKey}=${name},${LABEL.injected}=true`;
  const pods = await listAll(client, `/api/v1/namespaces/${namespace}/pods`, readPod, selector);
  const jobs = await readJobs(client, namespace, name);
  const terminating = pods.filter(({ deletion }) => deletion !== undefined);
  const [nodes, progress] = await Promise.all([readNodes(client, terminating), readProgress(client, jobSet, pods)]);
  return { object, jobSet: read, pods, nodes, progress, ...(jobs === undefined ? {} : { jobs }) };
}

/** Undefined for users who may not read Jobs. */
async function readJobs(client: KubeClient, namespace: string, name: string): Promise<readonly Job[] | undefined> {
  try {
    return await listAll(client, `/apis/batch/v1/namespaces/${namespace}/jobs`, readJob, `${JOBSET.nameKey}=${name}`);
  } catch (error) {
    if (hasStatus(error, 403)) return undefined;
    throw error;
  }
}

async function readNodes(client: KubeClient, pods: readonly Pod[]): Promise<ReadonlyMap<string, NodeState>> {
  const names = [...new Set(pods.flatMap(({ node }) => node ?? []))];
  const states = await Promise.all(names.map(async (name) => [name, await readNodeState(client, name)] as const));
  return new Map(states);
}

async function readNodeState(client: KubeClient, name: string): Promise<NodeState> {
  try {
    const { unreachable } = readNode(await client.request("GET", `/api/v1/nodes/${name}`));
    return unreachable === undefined ? "reachable" : "unreachable";
  } catch (error) {
    if (hasStatus(error, 404)) return "gone";
    if (hasStatus(error, 403)) return "unknown";
    throw error;
  }
}

function objectsIn(namespace: string | undefined): string {
  return collectionPath(IN_PLACE_RESTART, namespace);
}

function jobSetsIn(namespace: string | undefined): string {
  return collectionPath(JOBSET, namespace);
}
