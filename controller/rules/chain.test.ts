import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { RULE_NAME_LIMIT } from "../../src/api/in-place-restart.ts";
import { runningScene, Scene } from "../testing/scene.ts";
import { RULES } from "./chain.ts";

describe("the chain of rules", () => {
  it("gives every rule a name of its own that fits into the history", () => {
    const names = RULES.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) {
      expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(name.length).toBeLessThanOrEqual(RULE_NAME_LIMIT);
    }
  });

  it("has a file for every rule, and a test beside it, named like the rule", () => {
    const files = readdirSync("controller/rules");
    expect(files).toEqual(expect.arrayContaining(RULES.flatMap(({ name }) => [`${name}.ts`, `${name}.test.ts`])));
  });

  it("says in one sentence why each rule stands where it stands", () => {
    for (const { why } of RULES) expect(why).toMatch(/^[A-Z][^.]*\.$/);
  });
});

describe("a verdict", () => {
  it("names the rule behind the decision", () => {
    const scene = new Scene({ workers: { pods: 1 } });
    scene.step();
    expect(scene.verdict()).toMatchObject({ decision: { kind: "write" }, rule: "initialize" });
    scene.settle().job("workers-0").at(1, "workers-0/0");
    expect(scene.verdict().rule).toBe("lift-barrier");
  });

  it("names no rule when nothing is decided, or only the summary changes", () => {
    const scene = runningScene();
    expect(scene.verdict()).toEqual({ reports: [] });
    scene.now += 10_000;
    scene.pod("workers-0/0", { conditions: [] });
    expect(scene.verdict()).toMatchObject({ decision: { kind: "write", status: { ready: "1/2" } } });
    expect(scene.verdict().rule).toBeUndefined();
  });
});

describe("a history record", () => {
  it("names the rule that opened it", () => {
    const scene = runningScene().fails("workers-0/0", "a").settle();
    expect(scene.status.history).toMatchObject([{ action: "RestartInPlace", rule: "end-epoch" }]);
    expect(runningScene().loseObject().settle().status.history).toMatchObject([{ rule: "initialize" }]);
  });

  it("names the rule that changed its action later", () => {
    const scene = runningScene().fails("workers-0/1", "a").settle().pod("workers-0/0", { phase: "Succeeded" }).settle();
    expect(scene.status.history).toMatchObject([{ action: "RecreateJobSet", rule: "recreate-after-partial-success" }]);
  });
});
