// Checks the prerequisites of reprise in a cluster. Pure: src/kube/prerequisites.ts reads the facts. A missing
// prerequisite is always reported: injected JobSets would look healthy and never restart.
import { asMap, asText } from "../json/fields.ts";
import { JOBSET } from "./names.ts";

/** The first version that enables the action RestartAllContainers. */
const KUBERNETES = { major: 1, minor: 36 } as const;
const JOBSET_VERSION = "0.10";

export type LackReason = "kubernetes-too-old" | "jobset-missing" | "jobset-prunes-fields" | "webhook-untrusted";

export interface Lack {
  readonly reason: LackReason;
  /** The problem and its fix. */
  readonly message: string;
}

export interface ClusterFacts {
  /** The response of /version. */
  readonly version: unknown;
  /** The OpenAPI document of JobSet's API version. Undefined if it is not served. */
  readonly jobSetApi: unknown;
  /** The registered webhooks. Undefined if there are none, or if they were not read. */
  readonly webhookConfiguration?: unknown;
  /** Whether the API of cert-manager is served. */
  readonly certManager?: boolean;
}

export function judgeCluster(facts: ClusterFacts): readonly Lack[] {
  return [...judgeVersion(facts.version), ...judgeJobSet(facts.jobSetApi), ...judgeTrust(facts)];
}

function judgeVersion(version: unknown): readonly Lack[] {
  const { major, minor, gitVersion, emulationMajor, emulationMinor } = asMap(version);
  // An API server that emulates an older version does not have newer features.
  const parts = [emulationMajor ?? major, emulationMinor ?? minor];
  // Some distributions append a "+" to the minor version.
  const [majorNumber, minorNumber] = parts.map((part) => Number.parseInt(asText(part) ?? "", 10));
  if (majorNumber === undefined || minorNumber === undefined || Number.isNaN(majorNumber + minorNumber)) return [];
  const isNew = majorNumber > KUBERNETES.major || (majorNumber === KUBERNETES.major && minorNumber >= KUBERNETES.minor);
  if (isNew) return [];
  const wanted = `${KUBERNETES.major}.${KUBERNETES.minor}`;
  const found = emulationMinor === undefined ? (asText(gitVersion) ?? parts.join(".")) : parts.join(".");
  const message = `Kubernetes ${found} cannot restart all containers of a Pod in place; upgrade to ${wanted} or newer`;
  return [{ reason: "kubernetes-too-old", message }];
}

const POD_SPEC = ["template", "spec", "template", "spec"] as const;

/** Fields of a replicatedJob that injection writes and older CRDs do not have. */
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
  // A document in an unknown format does not prove that a field is missing.
  if (jobSet === undefined) return [];
  const dropped = NEEDED_FIELDS.find((path) => !hasField(jobSet, ["spec", "replicatedJobs", ...path]));
  if (dropped === undefined) return [];
  const field = `spec.replicatedJobs[].${dropped.join(".")}`;
  const message =
    `the JobSet CRD has no ${field}, so the API server would drop it; ` +
    `upgrade JobSet to ${JOBSET_VERSION} or newer`;
  return [{ reason: "jobset-prunes-fields", message }];
}

/** Whether the schema has the field or preserves unknown fields. Lists are passed through. */
export function hasField(schema: unknown, path: readonly string[]): boolean {
  const { properties, items, "x-kubernetes-preserve-unknown-fields": keepsAll } = asMap(schema);
  if (keepsAll === true) return true;
  if (items !== undefined) return hasField(items, path);
  const [field, ...rest] = path;
  if (field === undefined) return true;
  const next = asMap(properties)[field];
  return next !== undefined && hasField(next, rest);
}

function judgeTrust({ webhookConfiguration, certManager }: ClusterFacts): readonly Lack[] {
  const { webhooks } = asMap(webhookConfiguration);
  if (!Array.isArray(webhooks)) return [];
  const trusted = webhooks.every((webhook) => asText(asMap(asMap(webhook)["clientConfig"])["caBundle"]));
  if (trusted) return [];
  const remedy = certManager
    ? "cert-manager has not issued it yet; run `kubectl describe certificate -n reprise-system`"
    : "install cert-manager and apply reprise again, or set clientConfig.caBundle yourself";
  const message = `the API server does not trust the webhook of reprise, so no JobSet is injected: ${remedy}`;
  return [{ reason: "webhook-untrusted", message }];
}
