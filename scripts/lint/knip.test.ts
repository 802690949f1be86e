// knip with this repository's settings finds what nothing uses.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkedTree, runScript } from "./testing.ts";

const tree = checkedTree();

/** As `npm run lint` runs it, over a program with these files and dependencies. */
function knip(files: Readonly<Record<string, string>>, dependencies: object, ...args: readonly string[]) {
  tree.write({ "package.json": JSON.stringify({ type: "module", dependencies }), ...files });
  copyFileSync("knip.json", join(tree.root, "knip.json"));
  return runScript("node_modules/knip/bin/knip.js", tree.root, args);
}

const MAIN = {
  "agent/main.ts": "",
  "src/cli/main.ts": 'import { used } from "../json/fields.ts";\nused();\n',
  "src/json/fields.ts": "export function used() {}\n",
};

describe("knip", { timeout: 30_000 }, () => {
  it("accepts a program without unused parts", async () => {
    const { code, stdout } = await knip(MAIN, {});
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  });

  it.each([
    [
      "an export that no other file uses",
      { "src/json/fields.ts": "export function used() {}\nexport function dead() {}\n" },
      /^Unused exports \(1\)\ndead .*src\/json\/fields\.ts/,
    ],
    ["a file that nothing imports", { "controller/left.ts": "" }, /^Unused files \(1\)\ncontroller\/left\.ts/],
  ])("refuses %s", async (_what, files, message) => {
    const { code, stdout } = await knip({ ...MAIN, ...files }, {});
    expect(stdout).toMatch(message);
    expect(code).toBe(1);
  });

  it("refuses a dependency that nothing imports", async () => {
    const { code, stdout } = await knip(MAIN, { yaml: "2.9.1" });
    expect(stdout).toMatch(/^Unused dependencies \(1\)\nyaml /);
    expect(code).toBe(1);
  });

  it("refuses a dependency of the program that only tests import", async () => {
    const files = { ...MAIN, "src/json/fields.test.ts": 'import { parse } from "yaml";\nparse("");\n' };
    const { code, stdout } = await knip(files, { yaml: "2.9.1" }, "--production", "--dependencies");
    expect(stdout).toMatch(/^Unused dependencies \(1\)\nyaml /);
    expect(code).toBe(1);
  });
});
