import { globSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { bundledCli, SLOW } from "../testing.ts";

const cli = bundledCli();

const CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\n";

function jobSetText(name: string, annotations = "{}"): string {
  return `apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: ${name}
  namespace: team
  annotations: ${annotations}
spec:
  failurePolicy: {maxRestarts: 3}
  replicatedJobs:
  - name: workers
    template: {spec: {template: {spec: {containers: [{name: train, image: "train:1"}]}}}}
`;
}

describe("reprise validate", SLOW, () => {
  it("accepts a plain JobSet, and counts the documents that it ignores", async () => {
    const text = `${CONFIG_MAP}---\n${jobSetText("train")}---\n${CONFIG_MAP}`;
    const { code, stdout, stderr } = await cli.run(["validate", "-f", "-"], text);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n")).toEqual([
      expect.stringMatching(/^standard input: document 2, JobSet team\/train: valid: group of 1 Pod\b/),
      "2 other documents ignored",
      "",
    ]);
  });

  it("accepts the output of inject, and rejects it if its agent was changed", async () => {
    const { stdout: injected } = await cli.run(["inject", "-f", "-"], jobSetText("train"));
    expect((await cli.run(["validate", "-f", "-"], injected)).stdout).toMatch(
      /: valid, already injected: group of 1 Pod\b/,
    );
    const { code, stderr } = await cli.run(
      ["validate", "-f", "-"],
      injected.replace("restartPolicy: Always", "restartPolicy: Never"),
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /error: spec\.\S+\.initContainers\[0\]\.restartPolicy: is "Never" and not "Always".+ \[agent-process\]\n/,
    );
  });

  it.each(globSync("examples/**/{train,jobset}.yaml"))("accepts %s without a warning", async (file) => {
    const { code, stdout, stderr } = await cli.run(["validate", "-f", resolve(file)]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/: valid: group of 4 Pods\b/);
  });

  it("prints one line per error and warning on standard error, and exits with 1", async () => {
    const annotations =
      '{reprise.dev/fail-exit-codes: "0", reprise.dev/max-restarts: many, reprise.dev/inejct: "true"}';
    const { code, stdout, stderr } = await cli.run(
      ["validate", "-f", "-"],
      `${jobSetText("a")}---\n${jobSetText("b", annotations)}`,
    );
    expect(code).toBe(1);
    expect(stdout.split("\n")).toEqual([
      expect.stringMatching(/^standard input: document 1, JobSet team\/a: valid: group of 1 Pod\b/),
      "standard input: document 2, JobSet team/b: invalid (2 errors, 1 warning)",
      "",
    ]);
    const place = "standard input:18: document 2, JobSet team/b";
    expect(stderr.trimEnd().split("\n")).toEqual([
      expect.stringMatching(new RegExp(`^${place}: error: .+fail-exit-codes.+ \\[exit-codes\\]$`)),
      expect.stringMatching(
        new RegExp(`^${place}: error: .+max-restarts.+"many" is not a whole number.+ \\[max-restarts\\]$`),
      ),
      expect.stringMatching(
        new RegExp(`^${place}: warning: .+did you mean reprise\\.dev/inject\\? \\[unknown-annotations\\]$`),
      ),
      "reprise: 1 of 2 JobSets would be refused; fix the problems listed above",
    ]);
  });

  it("explains the restart budget, with the annotation of a Namespace in the input", async () => {
    const namespace =
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: team, annotations: {reprise.dev/max-restarts: "8"}}\n';
    const explained = async (text: string) =>
      (await cli.run(["validate", "--explain", "-f", "-"], text)).stdout.match(/ restart-budget: .*/)?.[0];
    expect(await explained(jobSetText("train"))).toBe(
      " restart-budget: pass (27 restarts (from backoffLimit and failurePolicy.maxRestarts))",
    );
    expect(await explained(`${namespace}---\n${jobSetText("train")}`)).toBe(
      " restart-budget: pass (8 restarts (from reprise.dev/max-restarts of the Namespace))",
    );
  });

  it("knows the failure policies of the config file and of a ConfigMap in the input", async () => {
    const config = await cli.file("policies.yaml", "failurePolicies: {ours: {failExitCodes: 7}}\n");
    const policies =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: reprise-failure-policies, namespace: team}\n" +
      "data:\n  mine: 'failExitCodes: 8'\n";
    const named = (name: string) => `---\n${jobSetText(name, `{reprise.dev/failure-policy: ${name}}`)}`;
    const text = `${policies}${named("ours")}${named("mine")}${named("theirs")}`;
    const { stdout, stderr } = await cli.run(["validate", "-f", "-", "--config", config], text);
    expect(stdout.match(/(?<=team\/)\w+: \w+/g)).toEqual(["ours: valid", "mine: valid", "theirs: invalid"]);
    expect(stderr).toContain('"theirs" is not defined in ConfigMap reprise-failure-policies of namespace team');
    const injected = await cli.run(
      ["inject", "-f", "-", "--config", config],
      `${policies}${named("ours")}${named("mine")}`,
    );
    expect(injected.stdout.match(/(?<="exitCodes\\?":\{\\?"fail\\?":\\?")\d+/g)).toEqual(["7", "8"]);
  });

  it("reports which JobSets would not be injected, and why", async () => {
    const { stdout } = await cli.run(["validate", "-f", "-"], jobSetText("train", '{reprise.dev/inject: "false"}'));
    expect(stdout).toBe(
      "standard input: document 1, JobSet team/train: would not be injected (disabled-by-annotation)\n",
    );
  });

  it("explains every rule", async () => {
    const { stdout } = await cli.run(["validate", "-f", "-", "--explain"], jobSetText("train", "{reprise.dev/x: y}"));
    expect(stdout).toContain("\n  ✓ agent-first: pass (every participant starts with its agent)\n");
    expect(stdout).toContain("\n  - max-restarts: not-applicable (the annotation is not set)\n");
    expect(stdout).toContain(
      "\n  ! unknown-annotations: warning\n      metadata.annotations[reprise.dev/x]: is not known",
    );
  });

  it("prints verdicts as JSON, with the rules on request", async () => {
    const text = `${CONFIG_MAP}---\n${jobSetText("train", "{reprise.dev/max-restarts: many}")}`;
    const plain = await cli.run(["validate", "-f", "-", "-o", "json"], text);
    expect(plain.code).toBe(1);
    expect(JSON.parse(plain.stdout)).toEqual({
      jobSets: [
        {
          file: "standard input",
          document: 2,
          jobSet: "team/train",
          allowed: false,
          errors: [
            {
              rule: "max-restarts",
              path: "metadata.annotations[reprise.dev/max-restarts]",
              message: expect.any(String),
            },
          ],
          warnings: [],
        },
      ],
      ignoredDocuments: 1,
      unreadable: [],
    });
    const explained = await cli.run(["validate", "-f", "-", "-o", "json", "--explain"], text);
    expect(JSON.parse(explained.stdout).jobSets[0].results.length).toBeGreaterThan(20);
  });

  it("continues after broken files and documents, and lists all of them", async () => {
    const other = jobSetText("b").replace("v1alpha2", "v1");
    const text = ["a: [\n", jobSetText("a"), other, jobSetText("c")].join("---\n");
    const { code, stdout, stderr } = await cli.run(["validate", "-f", "nowhere.yaml", "-"], text);
    expect(code).toBe(1);
    expect(stdout.match(/(?<=team\/)\w+: \w+/g)).toEqual(["a: valid", "c: valid"]);
    expect(stderr.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^reprise: cannot read nowhere\.yaml: /),
      expect.stringMatching(/^reprise: standard input:\d: document 1 is not valid YAML: /),
      'reprise: standard input:15: document 3 is not a JobSet: apiVersion is "jobset.x-k8s.io/v1"; ' +
        "use jobset.x-k8s.io/v1alpha2",
    ]);
    const json = await cli.run(["validate", "-o", "json", "-f", "-"], text);
    expect(JSON.parse(json.stdout)).toMatchObject({
      jobSets: [{}, {}],
      unreadable: [{}, {}].map(() => expect.any(String)),
    });
  });

  it("reports that there is nothing to validate in one line", async () => {
    expect(await cli.run(["validate"])).toEqual({
      code: 1,
      stdout: "",
      stderr: "reprise: nothing to validate; pass -f FILE, or --from-cluster for the JobSets of a cluster\n",
    });
  });

  it("reports input without a JobSet in one line", async () => {
    expect(await cli.run(["validate", "-f", "-"], CONFIG_MAP)).toEqual({
      code: 1,
      stdout: "",
      stderr: "reprise: no JobSet in standard input (documents read: 1); pass a file with a document of kind JobSet\n",
    });
  });
});
