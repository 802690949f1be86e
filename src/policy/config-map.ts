// The ConfigMap with a namespace's failure policies, one per key, reduced to what a lookup needs. Pure. A policy is
// parsed only when a JobSet names it: an invalid one must not affect the others.

import { FAILURE_POLICIES_CONFIG_MAP } from "../api/names.ts";
import { asMap, asText, asTextMap } from "../json/fields.ts";
import { MAX_DEFINITION_CHARS } from "./definition.ts";

/** Bounds memory: with the limit of each text, at most 800 KiB per namespace. */
const MAX_POLICIES = 100;

export function isPolicyConfigMap(raw: unknown): boolean {
  const { kind, apiVersion, metadata } = asMap(raw);
  return kind === "ConfigMap" && apiVersion === "v1" && asText(asMap(metadata)["name"]) === FAILURE_POLICIES_CONFIG_MAP;
}

/** The texts by policy name, sorted by name. A text over the limit is cut, but stays long enough to be rejected. */
export function readPolicyTexts(raw: unknown): ReadonlyMap<string, string> {
  const texts = Object.entries(asTextMap(asMap(raw)["data"])).sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(
    texts.slice(0, MAX_POLICIES).map(([name, text]) => [name, text.slice(0, MAX_DEFINITION_CHARS + 1)] as const),
  );
}
