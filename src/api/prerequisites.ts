// What reprise needs of a cluster, judged from what the cluster says about itself. Pure: the facts are read by
// src/kube/prerequisites.ts. A lack is never passed over in silence: without it, injected JobSets would look fine and
// not restart.
import { asMap, asText } from "../json/fields.ts";
import { JOBSET } from "./names.ts";

/** The first version with the action RestartAllContainers turned on. */
const KUBERNETES = { major: 1, minor: 36 } as const;
const JOBSET_VERSION = "0.10";

export type LackReason = "kubernetes-too-old" | "jobset-missing" | "jobset-prunes-fields" | "webhook-untrusted";

export interface Lack {
  readonly reason: LackReason;
  /** What is wrong and what to do. */
  readonly message: string;
}

export interface ClusterFacts {
  /** What /version answers. */
  readonly version: unknown;
  /** The OpenAPI document of JobSet's version, or undefined where it is not served. */
  readonly jobSetApi: unknown;
  /** The webhooks as they are registered; undefined where there are none, or where nobody asked. */
  readonly webhookConfiguration?: unknown;
  /** Whether cert-manager's API is served. */
  readonly certManager?: boolean;
}

export function judgeCluster(facts: ClusterFacts): readonly Lack[] {
  return [...judgeVersion(facts.version), ...judgeJobSet(facts.jobSetApi), ...judgeTrust(facts)];
}

function judgeVersion(version: unknown): readonly Lack[] {
  const { major, minor, gitVersion, emulationMajor, emulationMinor } = asMap(version);
  // Some distributions add a "+" to the minor version.
  // An API server may be told to behave like an older one, and then does not know what is newer.
  const parts = [emulationMajor ?? major, emulationMinor ?? minor];
  const [majorNumber, minorNumber] = parts.map((part) => Number.parseInt(asText(part) ?? "", 10));
  if (majorNumber === undefined || minorNumber === undefined || Number.isNaN(majorNumber + minorNumber)) return [];
  const isNew = majorNumber > KUBERNETES.major || (majorNumber === KUBERNETES.major && minorNumber >= KUBERNETES.minor);
  if (isNew) return [];
  const wanted = `${KUBERNETES.major}.${KUBERNETES.minor}`;
  const found = emulationMinor === undefined ? (asText(gitVersion) ?? parts.join(".")) : parts.join(".");
  const message = `Kubernetes ${found} cannot restart all containers of a Pod in place; upgrade it to ${wanted} or newer`;
  return [{ reason: "kubernetes-too-old", message }];
}

const POD_SPEC = ["template", "spec", "template", "spec"] as const;

/** Of a replicatedJob: what injection writes and older CRDs do not have. */
const NEEDED_FIELDS: readonly (readonly string[])[] = [
  [...POD_SPEC, "containers", "restartPolicyRules"],
  [...POD_SPEC, "initContainers", "restartPolicyRules"],
  ["template", "spec", "backoffLimitPerIndex"],
  ["template", "spec", "podReplacementPolicy"],
];

function judgeJobSet(api: unknown): readonly Lack[] {
  const name = `${JOBSET.group}/${JOBSET.version}`;
  if (api === undefined) {
    const message = `the API ${name} is not served; install JobSet ${JOBSET_VERSION} or newer`;
    return [{ reason: "jobset-missing", message }];
  }
  const schemas = Object.entries(asMap(asMap(asMap(api)["components"])["schemas"]));
  const [, jobSet] = schemas.find(([key]) => key.endsWith(`.${JOBSET.kind}`)) ?? [];
  // A document that is written in another way than today's is no proof that a field is missing.
  if (jobSet === undefined) return [];
  const dropped = NEEDED_FIELDS.find((path) => !keeps(jobSet, ["spec", "replicatedJobs", ...path]));
  if (dropped === undefined) return [];
  const field = `spec.replicatedJobs[].${dropped.join(".")}`;
  const message = `the CRD of JobSet has no ${field}, so the API server would drop it; upgrade JobSet to ${JOBSET_VERSION} or newer`;
  return [{ reason: "jobset-prunes-fields", message }];
}

/** Whether the schema has the field, or keeps fields that it does not know. */
function keeps(schema: unknown, path: readonly string[]): boolean {
  const { properties, items, "x-kubernetes-preserve-unknown-fields": keepsAll } = asMap(schema);
  if (keepsAll === true) return true;
  if (items !== undefined) return keeps(items, path);
  const [field, ...rest] = path;
  if (field === undefined) return true;
  const next = asMap(properties)[field];
  return next !== undefined && keeps(next, rest);
}

function judgeTrust({ webhookConfiguration, certManager }: ClusterFacts): readonly Lack[] {
  const { webhooks } = asMap(webhookConfiguration);
  if (!Array.isArray(webhooks)) return [];
  const trusted = webhooks.every((webhook) => asText(asMap(asMap(webhook)["clientConfig"])["caBundle"]));
  if (trusted) return [];
  const remedy = certManager
    ? "cert-manager has not issued it yet; see `kubectl describe certificate -n reprise-system`"
    : "install cert-manager and apply reprise again, or write clientConfig.caBundle yourself";
  const message = `the API server has no certificate authority for reprise's webhook, so no JobSet is injected: ${remedy}`;
  return [{ reason: "webhook-untrusted", message }];
}
