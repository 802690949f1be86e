// The facts about a cluster that `reprise doctor` judges, as raw objects. src/cli/input/doctor-facts.ts reads them.
import { asMap, asText, type Fields } from "../json/fields.ts";
import type { JsonObject } from "../json/types.ts";
import type { Right } from "./rights.ts";

export type Reading<T> =
  | { readonly kind: "read"; readonly value: T }
  | { readonly kind: "absent" }
  /** This user may not read it. */
  | { readonly kind: "denied"; readonly reason: string };

/** A create request that stores nothing. */
export type Probe =
  | { readonly kind: "answered"; readonly object: Fields; readonly warnings: readonly string[] }
  /** By validation or admission. */
  | { readonly kind: "refused"; readonly reason: string }
  /** This user may not create such an object. */
  | { readonly kind: "denied"; readonly reason: string }
  /** There is no namespace to try it in, or no such API. */
  | { readonly kind: "not-tried" };

export interface Facts {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Version of this program. */
  readonly version: string;
  /** The namespace of the installation. */
  readonly systemNamespace: string;
  /** The namespace of the dry-run JobSet. */
  readonly probeNamespace?: string;
  readonly kubernetes: Reading<Fields>;
  /** OpenAPI documents. */
  readonly jobSetApi: Reading<Fields>;
  readonly repriseApi: Reading<Fields>;
  /** A dry-run Pod with the rule that injection adds. */
  readonly podProbe: Probe;
  readonly nodes: Reading<readonly Fields[]>;
  /** Present if the API of cert-manager is served. */
  readonly certManager: Reading<Fields>;
  readonly certificate: Reading<Fields>;
  readonly mutatingWebhooks: Reading<Fields>;
  readonly validatingWebhooks: Reading<Fields>;
  /** When the authority in the caBundle of the webhooks expires, RFC 3339. Undefined if there is none to read. */
  readonly authorityExpires?: string;
  /** EndpointSlices of the webhook's Service. */
  readonly endpoints: Reading<readonly Fields[]>;
  readonly jobSetProbe: Probe;
  readonly deployments: Reading<readonly Fields[]>;
  readonly lease: Reading<Fields>;
  /** Rights that the accounts of reprise lack. */
  readonly missingRights: Reading<readonly Right[]>;
  /** Names of the ClusterRoles of agents that exist. */
  readonly agentRoles: Reading<readonly string[]>;
  readonly policies: Reading<readonly Fields[]>;
  readonly policyBindings: Reading<readonly Fields[]>;
  /** Namespaces that have the label, whatever its value. */
  readonly namespaces: Reading<readonly Fields[]>;
  readonly jobSets: Reading<readonly JsonObject[]>;
  readonly groups: Reading<readonly Fields[]>;
  /** Absent without Kueue. */
  readonly localQueues: Reading<readonly Fields[]>;
  readonly clusterQueues: Reading<readonly Fields[]>;
}

/** Whether any part of reprise is installed. What cannot be read counts as none. */
export function isInstalled(facts: Facts): boolean {
  const { repriseApi, mutatingWebhooks, validatingWebhooks, deployments } = facts;
  const single = [repriseApi, mutatingWebhooks, validatingWebhooks];
  return single.some(({ kind }) => kind === "read") || (deployments.kind === "read" && deployments.value.length > 0);
}

export function nameOf({ metadata }: Fields): string {
  return asText(asMap(metadata)["name"]) ?? "";
}

export function namespaceOf({ metadata }: Fields): string {
  return asText(asMap(metadata)["namespace"]) ?? "";
}
