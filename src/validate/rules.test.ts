import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { POD, settings } from "../../test/builders/injection.ts";
import { AGENT_AT, broken } from "../../test/builders/rule-examples.ts";
import { AGENT } from "../api/names.ts";
import type { Json } from "../json/types.ts";
import { RULES } from "./rules.ts";
import { validate } from "./validate.ts";

const FOLDER = new URL("./rules/", import.meta.url);

it("every rule has examples in a test beside it", () => {
  const tests = readdirSync(FOLDER).filter((file) => file.endsWith(".test.ts"));
  const text = tests.map((file) => readFileSync(new URL(file, FOLDER), "utf8")).join("\n");
  const untested = RULES.filter(({ name }) => {
    const variable = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    return !text.includes(`describeRule(${variable},`) && !text.includes(`[\n    ${variable},\n`);
  });
  expect(untested.map(({ name }) => name)).toEqual([]);
});

describe("other webhooks may change an agent:", () => {
  it.each<[string, readonly (string | number)[], Json]>([
    ["another pull policy", [...AGENT_AT, "imagePullPolicy"], "Always"],
    ["other resources", [...AGENT_AT, "resources"], { requests: { cpu: "1" } }],
    ["a tighter security context", [...AGENT_AT, "securityContext"], { runAsUser: 1_000_680_000 }],
    ["a wrapped command", [...AGENT_AT, "command"], ["/wrapper", AGENT.binary]],
    ["an annotation on its Pod", [...POD, "metadata", "annotations"], { "mesh.example/inject": "false" }],
  ])("%s is allowed", (_what, path, value) => {
    const object = broken(path, value);
    const { allowed, errors } = validate({ operation: "CREATE", namespace: "default", object, config: settings });
    expect({ allowed, errors }).toEqual({ allowed: true, errors: [] });
  });
});
