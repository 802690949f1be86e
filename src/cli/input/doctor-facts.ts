// Reads the facts that `reprise doctor` judges. It changes nothing: its two create requests are dry runs. What the user
// may not read stays unknown.
import { X509Certificate } from "node:crypto";
import { IN_PLACE_RESTART } from "../../api/in-place-restart.ts";
import { ANNOTATION, JOBSET, LABEL } from "../../api/names.ts";
import { VERSION } from "../../api/version.ts";
import type { Facts, Probe, Reading } from "../../doctor/facts.ts";
import { AGENT_ROLES, RIGHTS, type Right } from "../../doctor/rights.ts";
import { reasonOf } from "../../errors.ts";
import { asList, asMap, asText, asTextMap, type Fields } from "../../json/fields.ts";
import type { JsonObject } from "../../json/types.ts";
import { ApiError, hasStatus, isJsonObject } from "../../kube/api-error.ts";
import type { KubeClient } from "../../kube/client.ts";
import { listAll } from "../../kube/list.ts";
import { collectionPath, orAbsent } from "./cluster-path.ts";

export interface DoctorOptions {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly systemNamespace: string;
  /** For the dry-run Pod and JobSet. Default: the first namespace that is opted in. */
  readonly namespace: string | undefined;
}

const REGISTRATION = "/apis/admissionregistration.k8s.io/v1";

export async function readDoctorFacts(client: KubeClient, options: DoctorOptions): Promise<Facts> {
  const { now, systemNamespace } = options;
  const read = (path: string) => reading(client.request("GET", path));
  const list = (path: string, labelSelector?: string) => reading(listAll(client, path, asJsonObject, labelSelector));
  const own = (group: string, plural: string) => `${group}/namespaces/${systemNamespace}/${plural}`;
  const namespaces = await list("/api/v1/namespaces", LABEL.injection);
  const probeNamespace = options.namespace ?? firstEnabled(namespaces, systemNamespace);
  const mutatingWebhooks = await read(`${REGISTRATION}/mutatingwebhookconfigurations/reprise-webhook`);
  const authorityExpires = expiryOf(mutatingWebhooks);
  const endpointSlices = own("/apis/discovery.k8s.io/v1", "endpointslices");
  const kueue = await kueueVersion(client);
  return {
    now,
    version: VERSION,
    systemNamespace,
    ...(probeNamespace === undefined ? {} : { probeNamespace }),
    kubernetes: await read("/version"),
    jobSetApi: await read(`/openapi/v3/apis/${JOBSET.group}/${JOBSET.version}`),
    repriseApi: await read(`/openapi/v3/apis/${IN_PLACE_RESTART.group}/${IN_PLACE_RESTART.version}`),
    podProbe: await probe(client, `/api/v1/namespaces/${probeNamespace ?? client.namespace}/pods`, POD),
    nodes: await list("/api/v1/nodes"),
    certManager: await read("/apis/cert-manager.io"),
    certificate: await read(own("/apis/cert-manager.io/v1", "certificates/reprise-webhook")),
    mutatingWebhooks,
    validatingWebhooks: await read(`${REGISTRATION}/validatingwebhookconfigurations/reprise-webhook`),
    ...(authorityExpires === undefined ? {} : { authorityExpires }),
    endpoints: await list(endpointSlices, "kubernetes.io/service-name=reprise-webhook"),
    jobSetProbe:
      probeNamespace === undefined
        ? { kind: "not-tried" }
        : await probe(client, collectionPath(JOBSET, probeNamespace), JOB_SET),
    deployments: await list(own("/apis/apps/v1", "deployments")),
    lease: await read(own("/apis/coordination.k8s.io/v1", "leases/reprise-controller")),
    missingRights: await reading(missingRights(client, systemNamespace)),
    agentRoles: await reading(existingRoles(client)),
    policies: await list(`${REGISTRATION}/validatingadmissionpolicies`),
    policyBindings: await list(`${REGISTRATION}/validatingadmissionpolicybindings`),
    namespaces,
    jobSets: await list(collectionPath(JOBSET, undefined)),
    groups: await list(collectionPath(IN_PLACE_RESTART, undefined)),
    localQueues: kueue === undefined ? { kind: "absent" } : await list(`${kueue}/localqueues`),
    clusterQueues: kueue === undefined ? { kind: "absent" } : await list(`${kueue}/clusterqueues`),
  };
}

async function reading<T>(request: Promise<T>): Promise<Reading<T>> {
  try {
    return { kind: "read", value: await request };
  } catch (error) {
    if (hasStatus(error, 404)) return { kind: "absent" };
    if (hasStatus(error, 403)) return { kind: "denied", reason: detailOf(error) };
    throw error;
  }
}

/** What the API server said, without the request. */
function detailOf(error: unknown): string {
  return error instanceof ApiError ? error.detail : reasonOf(error);
}

function asJsonObject(raw: unknown): JsonObject {
  return isJsonObject(raw) ? raw : {};
}

function firstEnabled(namespaces: Reading<readonly Fields[]>, systemNamespace: string): string | undefined {
  if (namespaces.kind !== "read") return undefined;
  const enabled = namespaces.value
    .map(({ metadata }) => asMap(metadata))
    .filter(({ labels }) => asTextMap(labels)[LABEL.injection] === "enabled")
    .map(({ name }) => asText(name) ?? "");
  return enabled.find((name) => name !== systemNamespace && !name.startsWith("kube-"));
}

/** Accepted by every Pod security standard. It never runs. */
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { generateName: "reprise-doctor-" },
  spec: {
    restartPolicy: "Never",
    securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "probe",
        image: "reprise.dev/doctor",
        restartPolicy: "Never",
        restartPolicyRules: [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [88] } }],
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      },
    ],
  },
};

/** With the toggle, so that it is injected whatever `injection.default` says. */
const JOB_SET = {
  apiVersion: `${JOBSET.group}/${JOBSET.version}`,
  kind: JOBSET.kind,
  metadata: { generateName: "reprise-doctor-", annotations: { [ANNOTATION.inject]: "true" } },
  spec: {
    replicatedJobs: [
      { name: "w", template: { spec: { parallelism: 1, completions: 1, template: { spec: POD.spec } } } },
    ],
  },
};

async function probe(client: KubeClient, path: string, body: object): Promise<Probe> {
  const warnings: string[] = [];
  const onWarning = (text: string) => void warnings.push(text);
  try {
    const object = await client.request("POST", path, { body, query: { dryRun: "All" }, onWarning });
    return { kind: "answered", object, warnings };
  } catch (error) {
    const reason = detailOf(error);
    if (hasStatus(error, 404)) return { kind: "not-tried" };
    if (hasStatus(error, 403) && / cannot create /.test(reason)) return { kind: "denied", reason };
    if ([400, 403, 422, 500].some((status) => hasStatus(error, status))) return { kind: "refused", reason };
    throw error;
  }
}

/** Of the first authority in the caBundle that can be read. */
function expiryOf(configuration: Reading<Fields>): string | undefined {
  if (configuration.kind !== "read") return undefined;
  const [webhook] = asList(configuration.value["webhooks"]).map(asMap);
  const bundle = asText(asMap(webhook?.["clientConfig"])["caBundle"]);
  if (bundle === undefined) return undefined;
  try {
    return new Date(new X509Certificate(Buffer.from(bundle, "base64")).validTo).toISOString();
  } catch {
    return undefined;
  }
}

async function missingRights(client: KubeClient, namespace: string): Promise<readonly Right[]> {
  const reviewed = await Promise.all(
    RIGHTS.map(async (right) => ({ right, may: await may(client, right, namespace) })),
  );
  return reviewed.filter((each) => !each.may).map(({ right }) => right);
}

async function may(client: KubeClient, right: Right, namespace: string): Promise<boolean> {
  const { account, group, resource, subresource, verb, name, own } = right;
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: {
      user: `system:serviceaccount:${namespace}:${account}`,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
      resourceAttributes: { group, resource, subresource, verb, name, ...(own === true ? { namespace } : {}) },
    },
  };
  const review = await client.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", { body });
  return asMap(review["status"])["allowed"] === true;
}

async function existingRoles(client: KubeClient): Promise<readonly string[]> {
  const found = await Promise.all(
    AGENT_ROLES.map(async (name) => {
      const role = await orAbsent(client.request("GET", `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`));
      return role === undefined ? [] : [name];
    }),
  );
  return found.flat();
}

/** The path of Kueue's preferred API version; undefined without Kueue. */
async function kueueVersion(client: KubeClient): Promise<string | undefined> {
  const group = await reading(client.request("GET", "/apis/kueue.x-k8s.io"));
  if (group.kind !== "read") return undefined;
  return `/apis/${asText(asMap(group.value["preferredVersion"])["groupVersion"]) ?? "kueue.x-k8s.io/v1beta1"}`;
}
