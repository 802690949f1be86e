import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../api/names.ts";
import { createPolicyLookup, type NamespacePolicies } from "./lookup.ts";
import { resolveExitCodes } from "./resolve.ts";

const CONFIGURED = new Map([
  ["cuda-default", { fail: [78], recreate: [80, 214] }],
  ["everything", { fail: Array.from({ length: 254 }, (_, index) => index + 1), recreate: [] }],
]);

function lookup(texts: Readonly<Record<string, string>>) {
  const namespaced = (namespace: string): NamespacePolicies => ({
    kind: "known",
    texts: new Map(namespace === "team" ? Object.entries(texts) : []),
  });
  const find = createPolicyLookup({ configured: CONFIGURED, namespaced });
  return (name: string) => find("team", name);
}

function resolve(annotations: Readonly<Record<string, string>>, texts: Readonly<Record<string, string>> = {}) {
  return resolveExitCodes(annotations, lookup(texts));
}

function messages(annotations: Readonly<Record<string, string>>, texts: Readonly<Record<string, string>> = {}) {
  const resolved = resolve(annotations, texts);
  return resolved.ok ? [] : resolved.errors.map(({ path, message }) => `${path}: ${message}`);
}

const NAMED = { [ANNOTATION.failurePolicy]: "cuda-default" };
const AT_NAME = `metadata.annotations[${ANNOTATION.failurePolicy}]`;

describe("a named failure policy", () => {
  it("has the codes that the config file gives it", () => {
    expect(resolve(NAMED)).toEqual({ ok: true, policy: { fail: [78], recreate: [80, 214] } });
  });

  it("of the namespace overrides one of the config file", () => {
    expect(resolve(NAMED, { "cuda-default": "recreateExitCodes: 9" })).toEqual({
      ok: true,
      policy: { fail: [], recreate: [9] },
    });
  });

  it("is merged with the exit-code annotations", () => {
    const annotations = { ...NAMED, [ANNOTATION.failExitCodes]: "40-41,78" };
    expect(resolve(annotations)).toEqual({ ok: true, policy: { fail: [40, 41, 78], recreate: [80, 214] } });
  });

  it("rejects an annotation that moves one of its codes to the other class", () => {
    expect(messages({ ...NAMED, [ANNOTATION.failExitCodes]: "79-81" })).toEqual([
      `metadata.annotations[${ANNOTATION.failExitCodes}]: 80 is in the recreate class of failure policy ` +
        '"cuda-default", and a code belongs to only one class; remove it here, or remove reprise.dev/failure-policy ' +
        "and list all codes in annotations",
    ]);
  });

  it("must leave a code for restarts in place", () => {
    expect(messages({ [ANNOTATION.failurePolicy]: "everything", [ANNOTATION.recreateExitCodes]: "255" })).toEqual([
      expect.stringContaining("has 255 codes together with the exit-code annotations"),
    ]);
  });

  it("that is not defined is rejected with the most similar name", () => {
    expect(messages({ [ANNOTATION.failurePolicy]: "cuda-defaults" })).toEqual([
      `${AT_NAME}: "cuda-defaults" is not defined in ConfigMap reprise-failure-policies of namespace team or the ` +
        'config file; did you mean "cuda-default"?',
    ]);
    expect(messages({ [ANNOTATION.failurePolicy]: "x" }, { mine: "failExitCodes: 1" })).toEqual([
      expect.stringContaining("use one of: cuda-default, everything, mine"),
    ]);
  });

  it("that is malformed is rejected with its place, and never replaced by one of the same name", () => {
    expect(messages(NAMED, { "cuda-default": "failExitCodes: 300" })).toEqual([
      `${AT_NAME}: "cuda-default" is not valid: in ConfigMap reprise-failure-policies of namespace team, key ` +
        'cuda-default, failExitCodes "300" goes beyond 255, the largest exit code; use codes from 1 to 255',
    ]);
  });

  it("does not depend on the other policies of its ConfigMap", () => {
    expect(resolve(NAMED, { broken: "][" })).toMatchObject({ ok: true });
  });

  it("must have a name", () => {
    expect(messages({ [ANNOTATION.failurePolicy]: " " })).toEqual([
      `${AT_NAME}: names no failure policy; use a name such as "cuda-default", or remove the annotation`,
    ]);
  });

  it("is rejected while the policies of namespaces are unknown", () => {
    const namespaced = (): NamespacePolicies => ({ kind: "unavailable", reason: "not listed yet; try again" });
    const find = createPolicyLookup({ configured: CONFIGURED, namespaced });
    const resolved = resolveExitCodes(NAMED, (name) => find("team", name));
    expect(resolved.ok ? [] : resolved.errors.map(({ message }) => message)).toEqual([
      '"cuda-default" cannot be looked up: not listed yet; try again',
    ]);
  });
});
