import { describe, expect, it } from "vitest";
import { equivalent } from "./equivalent.ts";
import type { Json } from "./types.ts";

describe("values that mean the same to Kubernetes", () => {
  it.each<[string, Json, Json]>([
    ["null and absent", { a: null }, {}],
    ["an empty list and absent", { tolerations: [] }, {}],
    ["an empty resources that Go writes", { name: "c", resources: {} }, { name: "c" }],
    ["an empty metadata that Go writes", { metadata: {}, spec: 1 }, { spec: 1 }],
    ["empty labels inside an empty metadata", { metadata: { labels: null } }, { metadata: {} }],
    ["a quantity in another spelling", { limits: { cpu: "0.5" } }, { limits: { cpu: "500m" } }],
    ["a quantity written as a number", { requests: { cpu: 1 } }, { requests: { cpu: "1" } }],
    ["another order of keys", { a: 1, b: 2 }, { b: 2, a: 1 }],
  ])("%s", (_case, a, b) => {
    expect(equivalent(a, b)).toBe(true);
    expect(equivalent(b, a)).toBe(true);
  });

  it.each<[string, Json, Json]>([
    ["an emptyDir and nothing", { name: "v", emptyDir: {} }, { name: "v" }],
    ["text that only looks like a quantity", { args: ["0.5"] }, { args: ["500m"] }],
    ["another order of items", [1, 2], [2, 1]],
    ["false and absent", { suspend: false }, {}],
    ["zero and absent", { replicas: 0 }, {}],
    ["a list and a map", [], { a: 1 }],
    ["a quantity that is none", { limits: { cpu: "x" } }, { limits: { cpu: "y" } }],
  ])("not %s", (_case, a, b) => {
    expect(equivalent(a, b)).toBe(false);
    expect(equivalent(b, a)).toBe(false);
  });

  it("ignore the inherited fields of JavaScript objects", () => {
    expect(equivalent({ constructor: 1 }, { a: 1 })).toBe(false);
    expect(equivalent(JSON.parse('{"__proto__":{"a":1}}'), {})).toBe(false);
    expect(equivalent(JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}'))).toBe(true);
  });

  it("are never nested deeper than any Kubernetes object", () => {
    const deep = () => JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
    expect(equivalent(deep(), deep())).toBe(false);
  });
});
