// Tests a validation rule with a JobSet that it accepts, one that it reports and one that it does not apply to.
import { describe, expect, it } from "vitest";
import type { Finding, RuleResult } from "../../src/api/admission.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import type { InjectionSettings } from "../../src/inject/settings.ts";
import type { Json, JsonObject } from "../../src/json/types.ts";
import type { Rule } from "../../src/validate/rule.ts";
import { validate } from "../../src/validate/validate.ts";
import { at, changed, create, injected, POD_SPEC, settings } from "./injection.ts";
import { container, type JobSetBuilder, jobSet, type ReplicatedJobParts } from "./jobset.ts";

export const AGENT_AT = [...POD_SPEC, "initContainers", 0] as const;
export const jobPath = "spec.replicatedJobs[0].template.spec";
export const podPath = `${jobPath}.template.spec`;
export const agentPath = `${podPath}.initContainers[0]`;

/** A JobSet without any finding. */
export function plain(parts: ReplicatedJobParts = { pods: 2 }): JobSetBuilder {
  return jobSet()
    .spec({ failurePolicy: { maxRestarts: 3 } })
    .replicatedJob("workers", parts);
}

export function annotated(key: string, value: string): JsonObject {
  return plain().annotation(key, value).build();
}

export const intact = injected(create(plain().build()));

/** The injected JobSet with one value changed, as another webhook might do it. */
export function broken(path: readonly (string | number)[], value: Json): JsonObject {
  return changed(intact, path, value);
}

/** The list at a path of the injected JobSet. */
export function listIn(...path: readonly (string | number)[]): Json[] {
  const value = at(intact, ...path);
  if (!Array.isArray(value)) throw new Error(`no list at ${path.join(".")}`);
  return value;
}

/** The numbers from 1 to `count`. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

export function restartRule(action: string, values: readonly number[]): JsonObject {
  return { action, exitCodes: { operator: "In", values: [...values] } };
}

/** A worker with its own restartPolicyRules. */
export function withRestartRules(rules: JsonObject[]): ReplicatedJobParts {
  return {
    pods: 1,
    containers: [container("train", { restartPolicy: "Never", restartPolicyRules: rules })],
  };
}

export const SKIPPED = ["a JobSet that opted out", annotated(ANNOTATION.inject, "false")] as const;
export const UNSET = ["a JobSet without the annotation", plain().build()] as const;
export const NOT_INJECTED = ["a JobSet that is not injected", plain().build()] as const;
export const OTHER_KIND = ["an object of another kind", { apiVersion: "v1", kind: "ConfigMap" }] as const;

export interface RuleExamples {
  readonly accepts: readonly [what: string, object: JsonObject];
  readonly reports: readonly [what: string, object: JsonObject, path: string, message: RegExp];
  readonly ignores: readonly [what: string, object: JsonObject];
}

export function describeRule(
  rule: Rule,
  { accepts, reports, ignores }: RuleExamples,
  config: InjectionSettings = settings,
): void {
  describe(`rule ${rule.name}`, () => {
    it(`accepts ${accepts[0]}`, () => {
      expect(resultOf(rule, accepts[1], config)).toMatchObject({ verdict: "pass" });
    });

    const [what, object, path, message] = reports;
    it(`reports ${what}`, () => {
      expect(resultOf(rule, object, config)).toMatchObject({
        verdict: rule.severity,
        findings: [{ rule: rule.name, path, message: expect.stringMatching(message) }],
      });
    });

    it(`does not apply to ${ignores[0]}`, () => {
      expect(resultOf(rule, ignores[1], config)).toMatchObject({ verdict: "not-applicable" });
    });
  });
}

export function findingsOf(rule: Rule, object: JsonObject): readonly Finding[] {
  const result = resultOf(rule, object);
  return result !== undefined && "findings" in result ? result.findings : [];
}

function resultOf(rule: Rule, object: JsonObject, config = settings): RuleResult | undefined {
  const { results } = validate({ operation: "CREATE", namespace: "default", object, config });
  return results.find((result) => result.rule === rule.name);
}
