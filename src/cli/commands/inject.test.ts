import { readdirSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import jsonPatch from "fast-json-patch";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { at, policies } from "../../../test/builders/injection.ts";
import { defaultConfig } from "../../config/config.ts";
import { inject } from "../../inject/inject.ts";
import { createPatch, type PatchOperation } from "../../json/patch.ts";
import type { JsonObject } from "../../json/types.ts";
import { bundledCli, SLOW } from "../testing.ts";

const cli = bundledCli();

const CONFIG_MAP = "# kept   as it is\napiVersion: v1\nkind: ConfigMap   # odd\nmetadata: {name:   cm}\n";

function jobSetText(name: string, annotations = "{}"): string {
  return `# the job
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: ${name} # its name
  annotations: ${annotations}
spec:
  failurePolicy: {maxRestarts: 3}
  replicatedJobs:
  # all of them
  - name: workers
    template:
      spec:
        template:
          spec:
            containers:
            - name: train
              image: "train:1"
              args: [--mode, 0644]
`;
}

const OFF = "{reprise.dev/inject:   'false'}";

function linesOf(text: string): string[] {
  return text.trimEnd().split("\n");
}

const GOLDEN = "test/golden/inject";

/** Applies a patch with another implementation, as the API server does. */
function patched(object: JsonObject, patch: readonly PatchOperation[]): JsonObject {
  return jsonPatch.applyPatch(structuredClone(object), structuredClone([...patch])).newDocument;
}

/** What the webhook makes of the object. */
function byCore(object: JsonObject): JsonObject {
  const config = defaultConfig.injection;
  const outcome = inject({ operation: "CREATE", namespace: "default", object, config, policies });
  return outcome.kind === "injected" ? patched(object, createPatch(object, outcome.object)) : object;
}

describe("reprise inject and the webhook's core agree", SLOW, () => {
  const inputs = readdirSync(GOLDEN).filter((name) => name.endsWith(".in.yaml"));

  it("on every golden input", async () => {
    expect(inputs.length).toBeGreaterThan(5);
    for (const name of inputs) {
      const path = join(process.cwd(), GOLDEN, name);
      const object: JsonObject = parseAllDocuments(readFileSync(path, "utf8"), { version: "1.1" })[0]?.toJS();
      const expected = byCore(object);
      const [json, yaml] = await Promise.all([
        cli.run(["inject", "-f", path, "-o", "json"]),
        cli.run(["inject", "-f", path]),
      ]);
      expect(JSON.parse(json.stdout), name).toEqual(expected);
      expect(parseAllDocuments(yaml.stdout, { version: "1.1" })[0]?.toJS(), name).toEqual(expected);
    }
  }, 120_000);
});

describe("reprise inject", SLOW, () => {
  it("keeps other documents and skipped JobSets byte for byte, and injects the rest", async () => {
    const skipped = jobSetText("plain", OFF);
    const text = `${CONFIG_MAP}---\n${skipped}---\n${jobSetText("train")}---\n${CONFIG_MAP}`;
    const { code, stdout, stderr } = await cli.run(["inject", "-f", "-"], text);
    expect(code).toBe(0);
    expect(stdout.startsWith(`${CONFIG_MAP}---\n${skipped}---\n# the job\n`)).toBe(true);
    expect(stdout.endsWith(`---\n${CONFIG_MAP}`)).toBe(true);
    for (const kept of ["name: train # its name", "  # all of them\n  - name: workers", "args: [--mode, 0644]"]) {
      expect(stdout.slice(stdout.lastIndexOf("# the job"))).toContain(kept);
    }
    expect(stdout.split("- name: reprise-agent\n")).toHaveLength(2); // Once.
    expect(linesOf(stderr)).toEqual([
      "standard input:7: document 2, JobSet plain: not injected: disabled-by-annotation",
      expect.stringMatching(/^standard input:27: document 3, JobSet train: group of 1 Pod\b/),
    ]);
  });

  it("keeps an injected JobSet byte for byte", async () => {
    const once = await cli.run(["inject", "-f", "-"], jobSetText("train"));
    const twice = await cli.run(["inject", "-f", "-"], once.stdout);
    expect({ ...twice, stderr: linesOf(twice.stderr) }).toEqual({
      code: 0,
      stdout: once.stdout,
      stderr: [
        expect.stringMatching(/^standard input:2: document 1, JobSet train: already injected: group of 1 Pod\b/),
      ],
    });
  });

  it("keeps JSON and Lists", async () => {
    const [document] = parseAllDocuments(jobSetText("train"), { version: "1.1" });
    const list = { apiVersion: "v1", kind: "List", items: [{ kind: "Secret" }, document?.toJS()] };
    const { stdout } = await cli.run(["inject", "-f", "-"], JSON.stringify(list, null, 2));
    const made = JSON.parse(stdout);
    expect(made).toMatchObject({ kind: "List", items: [{ kind: "Secret" }, { kind: "JobSet" }] });
    expect(stdout).toContain('"name": "reprise-agent"');
    const asYaml = await cli.run(["inject", "-f", "-", "-o", "yaml"], JSON.stringify(list));
    expect(asYaml.stdout).toMatch(/^apiVersion: v1\nkind: List\nitems:\n/);
  });

  it("reads several files and the YAML and JSON of directories, and prints one stream", async () => {
    await mkdir(join(cli.folder, "many"), { recursive: true });
    await cli.file("many/b.yaml", jobSetText("b"));
    await cli.file("many/a.json", '{"apiVersion": "v1", "kind": "Secret"}');
    await cli.file("many/notes.txt", "not: [yaml");
    await cli.file("single.yaml", CONFIG_MAP);
    const { stdout } = await cli.run(["inject", "-f", "many", "-f", "single.yaml"]);
    const kinds = parseAllDocuments(stdout).map((document) => at(document.toJS(), "kind"));
    expect(kinds).toEqual(["Secret", "JobSet", "ConfigMap"]);
    const json = await cli.run(["inject", "-f", "many", "single.yaml", "-o", "json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: "List", items: [{}, { kind: "JobSet" }, {}] });
  });

  it("prints a diff that patch reads, without colors if there is no terminal", async () => {
    const name = await cli.file("train.yaml", jobSetText("train").replace("  annotations: {}\n", ""));
    const { stdout } = await cli.run(["inject", "-f", name, "-o", "diff"]);
    expect(stdout).toMatch(/^--- train\.yaml\n\+\+\+ train\.yaml \(injected\)\n@@ -\d+,\d+ \+\d+,\d+ @@\n/);
    expect(stdout).toContain("\n+            - name: reprise-agent\n");
    expect(stdout).not.toContain("\u001B");
    expect(stdout.split("\n").filter((line) => line.startsWith("-"))).toHaveLength(1);
  });

  it("prints the patch of every JobSet as a line of JSON", async () => {
    const text = `${jobSetText("a", OFF)}---\n${CONFIG_MAP}---\n${jobSetText("b")}`;
    const { stdout } = await cli.run(["inject", "-f", "-", "-o", "patch"], text);
    const [first, second] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(first).toEqual({ file: "standard input", document: 1, jobSet: "a", patch: [] });
    expect(second).toMatchObject({ document: 3, jobSet: "b" });
    const before: JsonObject = parseAllDocuments(jobSetText("b"), { version: "1.1" })[0]?.toJS();
    expect(patched(before, second.patch)).toEqual(byCore(before));
  });

  it("reports overwritten fields on standard error, with the line", async () => {
    const text = jobSetText("train").replace("      spec:\n", "      spec:\n        backoffLimitPerIndex: 0\n");
    const { code, stderr } = await cli.run(["inject", "-f", "-"], text);
    expect(code).toBe(0);
    expect(linesOf(stderr)[1]).toMatch(
      /^standard input:14: document 1, JobSet train: warning: \S+backoffLimitPerIndex: 0 was .+ \[overwritten-field\]/,
    );
  });

  it("says what validate would say, and refuses what it would refuse", async () => {
    const text = jobSetText("train", "{reprise.dev/max-restarts: many, reprise.dev/inejct: yes}");
    const [injected, validated] = await Promise.all([
      cli.run(["inject", "-f", "-"], text),
      cli.run(["validate", "-f", "-"], text),
    ]);
    expect(linesOf(injected.stderr)).toHaveLength(3);
    expect(injected).toEqual({ ...validated, stdout: "" });
  });

  it("prints no document if a JobSet is refused", async () => {
    const text = `${jobSetText("good")}---\n${jobSetText("bad", '{reprise.dev/fail-exit-codes: "0"}')}`;
    const { code, stdout, stderr } = await cli.run(["inject", "-f", "-"], text);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(linesOf(stderr)).toEqual([
      expect.stringMatching(/^standard input:2: document 1, JobSet good: group of 1 Pod\b/),
      expect.stringMatching(
        /^standard input:26: document 2, JobSet bad: error: metadata\.annotations\[.+ \[exit-codes\]$/,
      ),
      "reprise: 1 of 2 JobSets would be refused; fix the problems listed above",
    ]);
  });

  it("uses the settings of the config file", async () => {
    await cli.file("config.yaml", "injection:\n  agentImage: mirror.example/reprise:7\n");
    const { stdout } = await cli.run(["inject", "-f", "-", "--config", "config.yaml"], jobSetText("train"));
    expect(stdout).toContain("image: mirror.example/reprise:7\n");
  });

  it.each([
    ["an empty input", ""],
    ["nothing but comments", "# nothing\n"],
    ["no JobSet", `${CONFIG_MAP}---\n# odd\nkind:   Pod\nkind: Pod\n`],
  ])("passes %s on unchanged, for a pipe into kubectl", async (_what, text) => {
    expect(await cli.run(["inject", "-f", "-"], text)).toEqual({
      code: 0,
      stdout: text,
      stderr: "no JobSet in standard input: unchanged\n",
    });
  });

  it("passes a JobSet of another API on, and says which one it would inject", async () => {
    const text = jobSetText("train").replace("v1alpha2", "v1alpha1");
    expect(await cli.run(["inject", "-f", "-"], text)).toEqual({
      code: 0,
      stdout: text,
      stderr:
        'standard input:2: document 1 is not a JobSet: apiVersion is "jobset.x-k8s.io/v1alpha1"; ' +
        "use jobset.x-k8s.io/v1alpha2 (not injected)\n",
    });
  });

  it("reports every file and document that it cannot read, and prints nothing", async () => {
    const name = await cli.file(
      "broken.yaml",
      `${jobSetText("train")}---\na: [\n---\n${jobSetText("twice")}kind: JobSet\n`,
    );
    const { code, stdout, stderr } = await cli.run(["inject", "-f", "nowhere.yaml", name]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(linesOf(stderr)).toEqual([
      expect.stringMatching(/^broken\.yaml:2: document 1, JobSet train: group of 1 Pod\b/),
      expect.stringMatching(/^reprise: cannot read nowhere\.yaml: ENOENT.+; pass a readable file or directory/),
      expect.stringMatching(/^reprise: broken\.yaml:2\d: document 2 is not valid YAML: .+; correct this line$/),
      'reprise: broken.yaml:42: document 3 sets "kind" twice, first in line 25; remove one of the two',
    ]);
  });

  it("reads subdirectories with -R only", async () => {
    await mkdir(join(cli.folder, "tree", "deep"), { recursive: true });
    await cli.file("tree/deep/b.yaml", jobSetText("b"));
    expect(await cli.run(["inject", "-f", "tree"])).toEqual({
      code: 1,
      stdout: "",
      stderr: "reprise: no .yaml, .yml or .json file in directory tree; pass -R to read its subdirectories too\n",
    });
    const { code, stderr } = await cli.run(["inject", "-R", "-f", "tree"]);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^tree\/deep\/b\.yaml:2: document 1, JobSet b: group of 1 Pod\b/),
    });
  });

  it("reports a missing file, and a missing -f, in one line", async () => {
    expect(await cli.run(["inject", "-f", "nowhere.yaml"])).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "reprise: cannot read nowhere.yaml: ENOENT: no such file or directory, stat 'nowhere.yaml'; " +
        "pass a readable file or directory with -f FILE, or -f - for standard input\n",
    });
    expect((await cli.run(["inject"])).stderr).toBe(
      `reprise: required option '-f, --filename <file...>' not specified; see "reprise --help"\n`,
    );
  });
});
