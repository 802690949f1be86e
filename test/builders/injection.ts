// Runs the injection core on JobSets of the builders and reads the result.
import { type Finding, findingText, type InjectionOutcome } from "../../src/api/admission.ts";
import { defaultConfig } from "../../src/config/config.ts";
import { inject } from "../../src/inject/inject.ts";
import { readTemplate, type Template } from "../../src/inject/parts/template.ts";
import type { InjectionSettings } from "../../src/inject/settings.ts";
import type { Json, JsonObject } from "../../src/json/types.ts";
import { createPolicyLookup, type PolicyLookup } from "../../src/policy/lookup.ts";

export const settings: InjectionSettings = {
  default: "enabled",
  onUnsupported: "leave",
  agentImage: "registry.example/reprise:test",
  agentPullPolicy: "IfNotPresent",
  imagePullSecrets: [],
  agentResources: { cpu: "10m", guaranteedCpu: "100m", memory: "64Mi" },
  agentPort: 24_670,
  restartExitCode: 88,
};

/** An operator who wants JobSets refused that cannot restart in place. */
export const refusing: InjectionSettings = { ...settings, onUnsupported: "refuse" };

/** The policies of the default config. */
export const policies: PolicyLookup = createPolicyLookup({ configured: defaultConfig.failurePolicies });

export function create(object: JsonObject, config: InjectionSettings = settings, known = policies): InjectionOutcome {
  return inject({ operation: "CREATE", namespace: "default", object, config, policies: known });
}

export function update(
  object: JsonObject,
  oldObject: JsonObject,
  config: InjectionSettings = settings,
  known = policies,
): InjectionOutcome {
  return inject({ operation: "UPDATE", namespace: "default", object, oldObject, config, policies: known });
}

/** The injected object. Fails the test with the reason if there is none. */
export function injected(outcome: InjectionOutcome): JsonObject {
  if (outcome.kind === "injected") return outcome.object;
  throw new Error(`not injected: ${JSON.stringify(outcome)}`);
}

export function injectionErrors(outcome: InjectionOutcome): readonly Finding[] {
  if (outcome.kind === "refused") return outcome.errors;
  throw new Error(`not refused: ${outcome.kind}`);
}

/** The warnings as users read them. */
export function warningTexts({ warnings }: InjectionOutcome): string[] {
  return warnings.map(findingText);
}

/** One replicatedJob of an object, by its position. */
export function templateOf(object: JsonObject, index = 0): Template {
  const template = readTemplate(at(object, "spec", "replicatedJobs", index));
  if (template === undefined) throw new Error(`no replicatedJob ${index}`);
  return template;
}

/** The value at a path, or undefined. */
export function at(value: Json | undefined, ...path: readonly (string | number)[]): Json | undefined {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null) return undefined;
    current = Array.isArray(current) ? current[Number(key)] : current[key];
  }
  return current;
}

/** A copy with one value changed; the parents of the path must exist. */
export function changed(object: JsonObject, path: readonly (string | number)[], value: Json): JsonObject {
  const copy = structuredClone(object);
  const parent = at(copy, ...path.slice(0, -1));
  const key = path.at(-1);
  if (Array.isArray(parent) && typeof key === "number") parent[key] = value;
  else if (typeof parent === "object" && parent !== null && !Array.isArray(parent)) parent[String(key)] = value;
  else throw new Error(`no ${path.join(".")}`);
  return copy;
}

export const POD = ["spec", "replicatedJobs", 0, "template", "spec", "template"] as const;
export const POD_SPEC = [...POD, "spec"] as const;
