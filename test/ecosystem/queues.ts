// Kueue's objects, and what it says about a JobSet.
import { asList, asMap, asText, type Fields } from "../../src/json/fields.ts";
import type { Kubectl } from "../cluster/kubectl.ts";
import { waitFor } from "../cluster/proc.ts";

const API = "kueue.x-k8s.io/v1beta2";
const TIMEOUT_MS = 90_000;

interface Queue {
  readonly name: string;
  readonly namespace: string;
  /** The quota of each resource that it covers. */
  readonly quota: Readonly<Record<string, string>>;
  /** Labels that Kueue adds to the node selectors of what it admits. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
  /** Additional fields of the ClusterQueue. */
  readonly spec?: Fields;
}

/** A LocalQueue with its own ClusterQueue and ResourceFlavor, all of one name. */
export async function createQueue(kubectl: Kubectl, queue: Queue): Promise<void> {
  const { name, namespace, quota, nodeLabels, spec = {} } = queue;
  const resources = Object.entries(quota).map(([resource, nominalQuota]) => ({ name: resource, nominalQuota }));
  await createObjects(kubectl, [
    { kind: "ResourceFlavor", metadata: { name }, spec: nodeLabels === undefined ? {} : { nodeLabels } },
    {
      kind: "ClusterQueue",
      metadata: { name },
      spec: {
        namespaceSelector: {},
        preemption: { withinClusterQueue: "LowerPriority" },
        resourceGroups: [{ coveredResources: Object.keys(quota), flavors: [{ name, resources }] }],
        ...spec,
      },
    },
    { kind: "LocalQueue", metadata: { name, namespace }, spec: { clusterQueue: name } },
  ]);
}

/** Objects of Kueue's API. */
export async function createObjects(kubectl: Kubectl, objects: readonly Fields[]): Promise<void> {
  for (const object of objects)
    await kubectl(["apply", "-f", "-"], { input: JSON.stringify({ apiVersion: API, ...object }) });
}

/** The labels with which a JobSet waits in a queue. */
export function queued(queue: string, priority?: string): Readonly<Record<string, string>> {
  const labels = { "kueue.x-k8s.io/queue-name": queue };
  return priority === undefined ? labels : { ...labels, "kueue.x-k8s.io/priority-class": priority };
}

interface Workload {
  readonly name: string;
  /** The quota that it uses, in the order of the replicatedJobs. Empty if it is not admitted. */
  readonly usage: readonly Fields[];
  readonly conditions: Readonly<Record<string, { readonly status: string; readonly reason: string }>>;
}

export async function workloadOf(kubectl: Kubectl, namespace: string, jobSet: string): Promise<Workload | undefined> {
  const list = JSON.parse(await kubectl(["get", "workloads", "-n", namespace, "-o", "json"])) as Fields;
  const raw = asList(list["items"]).find((item) => {
    return asList(asMap(asMap(item)["metadata"])["ownerReferences"]).some((owner) => asMap(owner)["name"] === jobSet);
  });
  if (raw === undefined) return undefined;
  const status = asMap(asMap(raw)["status"]);
  const assignments = asList(asMap(status["admission"])["podSetAssignments"]);
  const conditions = asList(status["conditions"]).map(asMap);
  return {
    name: asText(asMap(asMap(raw)["metadata"])["name"]) ?? "",
    usage: assignments.map((each) => asMap(asMap(each)["resourceUsage"])),
    conditions: Object.fromEntries(
      conditions.map(({ type, status, reason }) => [
        type,
        { status: asText(status) ?? "", reason: asText(reason) ?? "" },
      ]),
    ),
  };
}

/** Waits until a condition of the JobSet's Workload has this status, and this reason if one is given. */
export async function workloadIs(
  kubectl: Kubectl,
  namespace: string,
  jobSet: string,
  [type, status, reason]: readonly [type: string, status: "True" | "False", reason?: string],
): Promise<Workload> {
  let last: Workload | undefined;
  try {
    return await waitFor(`the Workload of ${jobSet} is ${type}=${status}`, TIMEOUT_MS, async () => {
      last = await workloadOf(kubectl, namespace, jobSet);
      const condition = last?.conditions[type];
      return condition?.status === status && (reason === undefined || condition.reason === reason) ? last : undefined;
    });
  } catch (error) {
    throw new Error(`the Workload of ${jobSet} is not ${type}=${status}; last seen: ${JSON.stringify(last)}`, {
      cause: error,
    });
  }
}
