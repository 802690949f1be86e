// Validates skaffold.yaml with the JSON schema of skaffold's module, which is downloaded once and cached.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { asList, asMap } from "../../src/json/fields.ts";
import { cacheFolder, ensureBinaries } from "../cluster/binaries.ts";
import { checkGo, thisMachine } from "../cluster/prerequisites.ts";
import { terminalProgress } from "../cluster/progress.ts";
import { run } from "../cluster/run.ts";
import { moduleVersion } from "../cluster/tool-groups.ts";

const MODULE = "github.com/GoogleContainerTools/skaffold/v2";
const TOOL = new URL("../cluster/tools/skaffold", import.meta.url).pathname;

const config = asMap(parse(readFileSync("skaffold.yaml", "utf8")));

function schemaFor(apiVersion: string): object {
  const name = `${apiVersion.replace("skaffold/", "")}.json`;
  const folder = join(cacheFolder(), "skaffold", moduleVersion("skaffold", MODULE));
  const file = join(folder, name);
  if (!existsSync(file)) {
    checkGo(thisMachine());
    const { Dir } = JSON.parse(run(["go", "-C", TOOL, "mod", "download", "-json", MODULE]));
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(Dir, "docs-v2/content/en/schemas", name), `${file}.${process.pid}`);
    renameSync(`${file}.${process.pid}`, file);
  }
  return JSON.parse(readFileSync(file, "utf8"));
}

// The schema has keywords that only its documentation uses.
const ajv = new Ajv({ strict: false, allErrors: true });
const isValid = ajv.compile(schemaFor(String(config["apiVersion"])));

it("skaffold.yaml matches skaffold's schema", () => {
  isValid(config);
  expect(isValid.errors).toBeNull();
});

it("the schema rejects a field that skaffold does not know", () => {
  expect(isValid({ ...config, buidl: {} })).toBe(false);
  expect(isValid({ ...config, build: { artifacts: [{ docker: {} }] } })).toBe(false);
});

it("skaffold.yaml deploys Deployments that run the image it builds", async () => {
  const [artifact] = asList(asMap(config["build"])["artifacts"]).map(asMap);
  const [folder] = asList(asMap(asMap(config["manifests"])["kustomize"])["paths"]);
  const binaries = await ensureBinaries(["kubernetes"], terminalProgress());
  const rendered = run([binaries("kubernetes", "kubectl"), "kustomize", String(folder)]);
  const containers = parseAllDocuments(rendered)
    .map((document) => asMap(document.toJS()))
    .filter(({ kind }) => kind === "Deployment")
    .flatMap(({ spec }) => asList(asMap(asMap(asMap(spec)["template"])["spec"])["containers"]).map(asMap));
  expect(containers).toHaveLength(2);
  for (const { image } of containers) expect(String(image).split(":")[0]).toBe(artifact?.["image"]);
});
