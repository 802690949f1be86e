// Reads what `reprise validate --from-cluster` judges: the JobSets of a cluster as if they were created again now, and
// what their injection depends on. It never writes.
import { readLabels } from "../../api/metadata.ts";
import { ANNOTATION, FAILURE_POLICIES_CONFIG_MAP, JOBSET } from "../../api/names.ts";
import { type NamespaceLimit, type NamespaceLookup, readNamespaceLimit, UNANNOTATED } from "../../api/namespace.ts";
import { judgeCluster, type Lack } from "../../api/prerequisites.ts";
import { RepriseError, reasonOf } from "../../errors.ts";
import { isObject, objectAt, textAt } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import { hasStatus, isJsonObject } from "../../kube/api-error.ts";
import type { KubeClient } from "../../kube/client.ts";
import { listAll } from "../../kube/list.ts";
import { readFacts } from "../../kube/prerequisites.ts";
import { readPolicyTexts } from "../../policy/config-map.ts";
import type { ExitCodePolicy } from "../../policy/exit-codes.ts";
import { createPolicyLookup, type NamespacePolicies, type PolicyLookup } from "../../policy/lookup.ts";
import { collectionPath, orAbsent } from "./cluster-path.ts";

type Client = Pick<KubeClient, "request">;

/** Metadata that a user writes. The API server sets the rest. */
const WRITTEN = ["name", "generateName", "namespace", "labels", "annotations"] as const;

/** The JobSets of one or all namespaces, without what a cluster adds to them. */
export async function readJobSets(client: Client, namespace: string | undefined): Promise<JsonObject[]> {
  const found = await listAll(client, collectionPath(JOBSET, namespace), (raw) => raw);
  return found.flatMap((raw) => (isJsonObject(raw) ? [asNew(raw)] : []));
}

/** One JobSet, without what a cluster adds to it. */
export async function readJobSetObject(client: Client, namespace: string, name: string): Promise<JsonObject> {
  const stored = await orAbsent(client.request("GET", `${collectionPath(JOBSET, namespace)}/${name}`));
  if (stored === undefined) throw new RepriseError("JOBSET_NOT_FOUND", { namespace, name });
  return asNew(stored);
}

/** Empty for a user who may not read Namespaces. */
export async function readNamespaceLabels(client: Client, name: string): Promise<Readonly<Record<string, string>>> {
  try {
    return readLabels(await orAbsent(client.request("GET", `/api/v1/namespaces/${name}`)));
  } catch (error) {
    if (hasStatus(error, 403)) return {};
    throw error;
  }
}

function asNew(stored: JsonObject): JsonObject {
  const { status: _status, metadata, ...rest } = stored;
  const written = isObject(metadata) ? metadata : {};
  const kept = WRITTEN.flatMap((key) => (written[key] === undefined ? [] : [[key, written[key]] as const]));
  return {
    ...rest,
    apiVersion: `${JOBSET.group}/${JOBSET.version}`,
    kind: JOBSET.kind,
    metadata: Object.fromEntries(kept),
  };
}

/** What the cluster lacks for restarts in place. */
export async function readLacks(client: Client): Promise<readonly Lack[]> {
  return judgeCluster(await readFacts(client));
}

/** The annotations of the Namespaces of these JobSets. */
export async function readNamespaces(client: Client, jobSets: readonly JsonObject[]): Promise<NamespaceLookup> {
  const known = new Map<string, NamespaceLimit>();
  for (const namespace of namespacesOf(jobSets)) known.set(namespace, await readNamespace(client, namespace));
  return (namespace) => known.get(namespace) ?? UNANNOTATED;
}

async function readNamespace(client: Client, namespace: string): Promise<NamespaceLimit> {
  try {
    return readNamespaceLimit(await orAbsent(client.request("GET", `/api/v1/namespaces/${namespace}`)));
  } catch (error) {
    if (hasStatus(error, 403)) return { kind: "unavailable", reason: reasonOf(error) };
    throw error;
  }
}

/** The failure policies of the namespaces whose JobSets name one. */
export async function readPolicies(
  client: Client,
  jobSets: readonly JsonObject[],
  configured: ReadonlyMap<string, ExitCodePolicy>,
): Promise<PolicyLookup> {
  const known = new Map<string, NamespacePolicies>();
  for (const namespace of namespacesOf(jobSets.filter(namesPolicy))) {
    known.set(namespace, await readNamespacePolicies(client, namespace));
  }
  const none: NamespacePolicies = { kind: "known", texts: new Map() };
  return createPolicyLookup({ configured, namespaced: (namespace) => known.get(namespace) ?? none });
}

function namespacesOf(jobSets: readonly JsonObject[]): ReadonlySet<string> {
  return new Set(jobSets.flatMap((each) => textAt(objectAt(each, "metadata"), "namespace") ?? []));
}

function namesPolicy(jobSet: JsonObject): boolean {
  return textAt(objectAt(objectAt(jobSet, "metadata"), "annotations"), ANNOTATION.failurePolicy) !== undefined;
}

async function readNamespacePolicies(client: Client, namespace: string): Promise<NamespacePolicies> {
  const path = `/api/v1/namespaces/${namespace}/configmaps/${FAILURE_POLICIES_CONFIG_MAP}`;
  try {
    return { kind: "known", texts: readPolicyTexts(await orAbsent(client.request("GET", path))) };
  } catch (error) {
    if (hasStatus(error, 403)) return { kind: "unavailable", reason: reasonOf(error) };
    throw error;
  }
}
