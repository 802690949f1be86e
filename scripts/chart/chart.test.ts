// The generated files of charts/reprise are up to date, and no manifest of the default install is missing in the chart.
import { existsSync, globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { VERSION } from "../../src/api/version.ts";
import { CHART, chartFiles, WITHOUT_TEMPLATE } from "./files.ts";
import { toTemplate } from "./template.ts";

it.each([...chartFiles()])("%s is up to date (otherwise run: node scripts/chart.ts)", (file, content) => {
  expect(existsSync(file) ? readFileSync(file, "utf8") : "missing").toBe(content);
});

it("the chart has no template of a manifest that is gone", () => {
  const written = globSync(`${CHART}/templates/*/**/*.yaml`);
  expect(written.filter((file) => !chartFiles().has(file))).toEqual([]);
});

it("every manifest of the default install and the dashboard has a template, or a reason why it has none", () => {
  const folders = ["crd", "webhook", "agent", "controller", "dashboard", "default"];
  const manifests = folders
    .flatMap((folder) =>
      parse(readFileSync(`manifests/${folder}/kustomization.yaml`, "utf8")).resources.map(
        (file: string) => `${folder}/${file}`,
      ),
    )
    .filter((file) => !file.includes("../"));
  const without = manifests.filter((file) => !chartFiles().has(`${CHART}/templates/${file}`));
  expect(without).toEqual(Object.keys(WITHOUT_TEMPLATE));
});

it("the chart has the version of reprise", () => {
  expect(parse(readFileSync(`${CHART}/Chart.yaml`, "utf8"))).toMatchObject({ version: VERSION, appVersion: VERSION });
});

const MANIFEST = "kind: A\nmetadata:\n  name: a\n  namespace: reprise-system\nspec:\n  replicas: 2\n";

it("an edit that fits no text of the manifest, or two, is an error", () => {
  expect(() => toTemplate(MANIFEST, [["replicas: 3", "x"]])).toThrow("found 0 times");
  expect(() => toTemplate(MANIFEST, [["a", "x"]])).toThrow(/found \d+ times instead of once/);
});

it("a template has the labels of the install and the namespace of the release", () => {
  expect(parse(toTemplate(MANIFEST, []).replace("{{ .Release.Namespace }}", "other"))).toEqual({
    kind: "A",
    metadata: {
      name: "a",
      namespace: "other",
      labels: { "app.kubernetes.io/name": "reprise", "app.kubernetes.io/part-of": "reprise" },
    },
    spec: { replicas: 2 },
  });
});

it("braces of a manifest stay as they are when Helm renders the template", () => {
  expect(toTemplate(`${MANIFEST}# {{ $value }}\n`, [])).toContain('# {{ "{{" }} $value }}');
});
