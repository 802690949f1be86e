// The ConfigMap that holds a namespace's failure policies, one per key, reduced to what a lookup needs. Pure. The texts
// are read when a JobSet names them: one that is wrong must not take the others with it.

import { FAILURE_POLICIES_CONFIG_MAP } from "../api/names.ts";
import { asMap, asText, asTextMap } from "../json/fields.ts";
import { MAX_DEFINITION_CHARS } from "./definition.ts";

/**
 * With the limit of each text, 800 KiB at most of a ConfigMap that may have 1 MiB of small keys; nobody tells more
 * apart.
 */
const MAX_POLICIES = 100;

export function isPolicyConfigMap(raw: unknown): boolean {
  const { kind, apiVersion, metadata } = asMap(raw);
  return kind === "ConfigMap" && apiVersion === "v1" && asText(asMap(metadata)["name"]) === FAILURE_POLICIES_CONFIG_MAP;
}

/**
 * The texts by policy name, in the order of the names. A text that is too long keeps just enough to be refused for it.
 */
export function readPolicyTexts(raw: unknown): ReadonlyMap<string, string> {
  const texts = Object.entries(asTextMap(asMap(raw)["data"])).sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(
    texts.slice(0, MAX_POLICIES).map(([name, text]) => [name, text.slice(0, MAX_DEFINITION_CHARS + 1)] as const),
  );
}
