// Checks .github/workflows with actionlint.
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { ensureBinaries } from "../test/cluster/binaries.ts";
import { terminalProgress } from "../test/cluster/progress.ts";

/** The first run builds actionlint, beside other tests. */
const BUILD_TIMEOUT_MS = 600_000;

let actionlint: string;

beforeAll(async () => {
  const path = await ensureBinaries(["actionlint"], terminalProgress());
  actionlint = path("actionlint", "actionlint");
}, BUILD_TIMEOUT_MS);

/** Without shellcheck and pyflakes: a machine that has them must not report more than one that does not. */
function findings(files: readonly string[], input = ""): string {
  const args = ["-no-color", "-shellcheck=", "-pyflakes=", ...files];
  const { stdout, stderr } = spawnSync(actionlint, args, { encoding: "utf8", input });
  return stdout + stderr;
}

const workflows = globSync(".github/workflows/*.yaml");

it("actionlint finds nothing in the workflows", () => {
  expect(workflows).not.toEqual([]);
  expect(findings(workflows)).toBe("");
});

it("actionlint finds a key that no job has", () => {
  const workflow = "on: push\njobs: {test: {runs-on: ubuntu-24.04, stepz: [{run: ls}]}}\n";
  expect(findings(["-"], workflow)).toContain('unexpected key "stepz"');
});

it.each(workflows)("%s grants read access only, and more to single jobs", (file) => {
  expect(parse(readFileSync(file, "utf8")).permissions).toEqual({ contents: "read" });
});

it.each(workflows)("%s uses actions of a released version, or files of this repository", (file) => {
  const used = [...readFileSync(file, "utf8").matchAll(/^\s*(?:- )?uses: (\S+)$/gm)].map(([, action = ""]) => action);
  expect(used).not.toEqual([]);
  expect(used.filter((action) => !/^(?:\.\/\S+|[\w-]+\/[\w-]+@v\d+)$/.test(action))).toEqual([]);
});

it("a release has the kubectl plugin and its krew manifest, packed after the folder of the release exists", () => {
  const { publish } = parse(readFileSync(".github/workflows/release.yaml", "utf8")).jobs;
  const scripts = publish.steps.map(({ run = "" }: { readonly run?: string }) => run);
  const at = (part: string) => scripts.findIndex((script: string) => script.includes(part));
  expect(at("mkdir release")).toBeGreaterThanOrEqual(0);
  expect(at("scripts/krew.ts")).toBeGreaterThan(at("mkdir release"));
  expect(at("sha256sum")).toBeGreaterThan(at("scripts/krew.ts"));
});

it("CI runs the same script as everywhere else", () => {
  expect(readFileSync(".github/workflows/ci.yaml", "utf8")).toContain(".ci/run");
});
