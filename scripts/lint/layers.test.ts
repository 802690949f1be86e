import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readImports } from "./imports.ts";
import { findBreaches, findCycles, LAYERS } from "./layers.ts";
import { checkedTree, runCheck } from "./testing.ts";

const tree = checkedTree();
const { write } = tree;
const lint = (folder: string) => runCheck("check-layers.ts", folder);

function breaches(): string[] {
  return findBreaches(readImports(tree.root)).map(({ file, line, what, why }) => `${file}:${line}: ${what}: ${why}`);
}

describe("the order of the layers", () => {
  it("holds in this repository, which has no import cycle", { timeout: 30_000 }, async () => {
    const { code, stdout, stderr } = await lint(".");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(Number(/^layers: (\d+) files/.exec(stdout)?.[1])).toBeGreaterThan(300);
  });

  it("names layers that exist, and each imports only layers above it in the list", () => {
    for (const [position, { path, imports }] of LAYERS.entries()) {
      expect(existsSync(path), path).toBe(true);
      const above = LAYERS.slice(0, position).map((layer) => layer.path);
      for (const lower of imports) expect(above, `${path} imports ${lower}`).toContain(lower);
    }
  });

  it.each([
    ["a value", 'import { RULES } from "../rules/chain.ts";'],
    ["a type", 'import type { Rule } from "../rules/chain.ts";'],
    ["something that is exported again", 'export { RULES } from "../rules/chain.ts";'],
    ["a module that is loaded later", 'export const later = () => import("../rules/chain.ts");'],
  ])("refuses an import of %s from a higher layer", (_, text) => {
    write({ "controller/group/x.ts": text, "controller/rules/chain.ts": "" });
    expect(breaches()).toEqual([
      expect.stringMatching(/^controller\/group\/x\.ts:1: imports controller\/rules\/chain\.ts: .* may import only /),
    ]);
  });

  it("allows imports of lower layers and of the same layer", () => {
    write({
      "controller/rules/x.ts": 'import "../group/group.ts";\nimport "./y.ts";\nimport "node:fs";\nimport "yaml";',
      "controller/rules/y.ts": "",
      "controller/group/group.ts": "",
    });
    expect(breaches()).toEqual([]);
  });

  it("refuses a program that imports what is for tests", () => {
    write({ "src/webhook/x.ts": 'import "../../test/builders/jobset.ts";', "test/builders/jobset.ts": "" });
    expect(breaches()).toEqual([expect.stringContaining("a program imports nothing that is for tests")]);
  });

  it("lets tests import anything", () => {
    write({ "src/json/x.test.ts": 'import "../cli/main.ts";', "src/cli/main.ts": "" });
    expect(breaches()).toEqual([]);
  });

  it("fails the check if it is broken", { timeout: 30_000 }, async () => {
    write({ "controller/group/x.ts": 'import "../rules/chain.ts";', "controller/rules/chain.ts": "" });
    expect(await lint(tree.root)).toEqual({
      code: 1,
      stdout: "layers: 2 files checked, 1 breaches, 0 cycles\n",
      stderr: expect.stringMatching(/^controller\/group\/x\.ts:1: imports controller\/rules\/chain\.ts: /),
    });
  });

  it("refuses a file that belongs to no layer", () => {
    write({ "src/elsewhere/x.ts": 'import "../json/y.ts";', "src/json/y.ts": "" });
    expect(breaches()).toEqual([expect.stringContaining("src/elsewhere/x.ts is in no layer")]);
  });
});

describe("import cycles", () => {
  it("are found through any number of files, also when types alone close them", () => {
    write({
      "src/json/a.ts": 'import "./b.ts";',
      "src/json/b.ts": 'import { c } from "./c.ts";',
      "src/json/c.ts": 'import type { A } from "./a.ts";',
    });
    expect(findCycles(readImports(tree.root))).toEqual([
      "src/json/a.ts → src/json/b.ts → src/json/c.ts → src/json/a.ts",
    ]);
  });

  it("are not seen where two files import a third", () => {
    write({
      "src/json/a.ts": 'import "./b.ts";\nimport "./c.ts";',
      "src/json/b.ts": 'import "./c.ts";',
      "src/json/c.ts": "",
    });
    expect(findCycles(readImports(tree.root))).toEqual([]);
  });

  it("fail the check, which prints them", { timeout: 30_000 }, async () => {
    write({ "src/json/a.ts": 'import "./b.ts";', "src/json/b.ts": 'import "./a.ts";' });
    expect(await lint(tree.root)).toEqual({
      code: 1,
      stdout: "layers: 2 files checked, 0 breaches, 1 cycles\n",
      stderr: "import cycle: src/json/a.ts → src/json/b.ts → src/json/a.ts\n",
    });
  });
});
