// Checks .github/workflows with actionlint. Go builds it once, at the version that scripts/actionlint/go.mod pins.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { cacheFolder } from "../test/cluster/binaries.ts";
import { checkGo, thisMachine } from "../test/cluster/prerequisites.ts";
import { run } from "../test/cluster/run.ts";

const MODULE = join(import.meta.dirname, "actionlint");

/** A cold build takes some 20 s of CPU time, and other tests run beside it. */
const BUILD_TIMEOUT_MS = 600_000;

function actionlint(): string {
  const sums = readFileSync(join(MODULE, "go.sum"));
  const key = createHash("sha256").update(sums).update(process.arch).digest("hex").slice(0, 12);
  const folder = join(cacheFolder(), "actionlint", key);
  const program = join(folder, "actionlint");
  if (!existsSync(program)) {
    checkGo(thisMachine());
    mkdirSync(folder, { recursive: true });
    const built = `${program}.${process.pid}`;
    run(["go", "-C", MODULE, "build", "-trimpath", "-o", built, "github.com/rhysd/actionlint/cmd/actionlint"]);
    renameSync(built, program);
  }
  return program;
}

/** Without shellcheck and pyflakes: a machine that has them must not report more than one that does not. */
function findings(files: readonly string[], input = ""): string {
  const args = ["-no-color", "-shellcheck=", "-pyflakes=", ...files];
  const { stdout, stderr } = spawnSync(actionlint(), args, { encoding: "utf8", input });
  return stdout + stderr;
}

const workflows = globSync(".github/workflows/*.yaml");

it("actionlint finds nothing in the workflows", { timeout: BUILD_TIMEOUT_MS }, () => {
  expect(workflows).not.toEqual([]);
  expect(findings(workflows)).toBe("");
});

it("actionlint finds a key that no job has", { timeout: BUILD_TIMEOUT_MS }, () => {
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

it("CI runs the same script as everywhere else", () => {
  expect(readFileSync(".github/workflows/ci.yaml", "utf8")).toContain(".ci/run");
});
