import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigError } from "../errors.ts";
import { defaultConfig, parseConfig } from "./config.ts";

/** The error lines for an invalid file. */
function problemsOf(text: string): string[] {
  try {
    parseConfig(text, "reprise.yaml");
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split("\n");
    throw error;
  }
  return [];
}

describe("parseConfig", () => {
  it.each(["", "# nothing set\n", "{}", "injection:\n", "injection:\n  agentImage:\n"])(
    "takes the defaults for %j, where nothing is set",
    (text) => {
      expect(parseConfig(text, "reprise.yaml")).toEqual(defaultConfig);
    },
  );

  it("keeps the defaults of settings that are not in the file", () => {
    const config = parseConfig(
      "injection: {restartExitCode: 90, agentResources: {cpu: 1}}\nstuckPods: {threshold: 2m}",
      "f",
    );
    expect(config).toEqual({
      ...defaultConfig,
      injection: {
        ...defaultConfig.injection,
        restartExitCode: 90,
        agentResources: { cpu: "1", guaranteedCpu: "100m", memory: "64Mi" },
      },
      stuckPods: { ...defaultConfig.stuckPods, threshold: 120_000 },
    });
  });

  it("reads settings without a default, and the word none instead of resources", () => {
    expect(defaultConfig.injection.defaultMaxRestarts).toBeUndefined();
    const { injection } = parseConfig("injection: {defaultMaxRestarts: 0, agentResources: none}", "f");
    expect(injection).toMatchObject({ defaultMaxRestarts: 0, agentResources: "none" });
  });

  it("suggests the most similar setting for an unknown key, with its line", () => {
    expect(problemsOf("# first\nloglevel: debug\n")).toEqual([
      'reprise.yaml:2: loglevel is not a known setting; did you mean "logLevel"?',
    ]);
    expect(problemsOf("webhook:\n  port: 1\n  certdir: /tls\n")).toEqual([
      'reprise.yaml:3: webhook.certdir is not a known setting; did you mean "certDir"?',
    ]);
  });

  it("replaces the default failure policies", () => {
    const text = 'failurePolicies:\n  mine: {failExitCodes: 78, recreateExitCodes: "80-81"}\n';
    expect(parseConfig(text, "f").failurePolicies).toEqual(new Map([["mine", { fail: [78], recreate: [80, 81] }]]));
    expect(parseConfig("failurePolicies: {}", "f").failurePolicies.size).toBe(0);
    expect([...defaultConfig.failurePolicies.keys()]).toEqual(["cuda-default"]);
  });

  it("reports an invalid failure policy as it would an annotation", () => {
    const text =
      "failurePolicies:\n  mine:\n    failExitCodes: 0\n    recreateExitcodes: 1\n  yours: {}\n  theirs: 78\n";
    expect(problemsOf(text)).toEqual([
      "reprise.yaml:4: failurePolicies.mine.recreateExitcodes: is not a field of a failure policy; did you mean " +
        '"recreateExitCodes"?',
      "reprise.yaml:5: failurePolicies.yours: has neither failExitCodes nor recreateExitCodes; use a field such as " +
        '`recreateExitCodes: "80"`',
      "reprise.yaml:6: failurePolicies.theirs: is not a map with failExitCodes and recreateExitCodes; use a field " +
        'such as `recreateExitCodes: "80"`',
    ]);
    expect(problemsOf("failurePolicies:\n  mine:\n    failExitCodes: 40-300\n")).toEqual([
      'reprise.yaml:3: failurePolicies.mine.failExitCodes: "40-300" goes beyond 255, the largest exit code; use ' +
        "codes from 1 to 255",
    ]);
    expect(problemsOf("failurePolicies: [mine]")).toEqual([
      expect.stringContaining(
        "failurePolicies: expected a map from names to failExitCodes and recreateExitCodes, found the list",
      ),
    ]);
  });

  it("lists the known settings if none is similar", () => {
    expect(problemsOf("stuckPods:\n  replicas: 3\n")).toEqual([
      "reprise.yaml:2: stuckPods.replicas is not a known setting; remove it (known here: enabled, threshold, brake)",
    ]);
  });

  it.each([
    [
      'controller:\n  healthPort: "http"\n',
      'reprise.yaml:2: controller.healthPort: expected a whole number from 1 to 65535, found "http"; for example ' +
        '"healthPort: 8082"',
    ],
    [
      "webhook: {port: 70000}",
      'reprise.yaml:1: webhook.port: expected a whole number from 1 to 65535, found 70000; for example "port: 9443"',
    ],
    [
      "injection:\n  default: yes\n",
      'reprise.yaml:2: injection.default: expected one of enabled, disabled, found "yes"; for example "default: ' +
        'enabled"',
    ],
    [
      "stuckPods:\n  threshold: 60\n",
      'reprise.yaml:2: stuckPods.threshold: expected a duration such as "30s", "5m" or "1h30m", found 60; for ' +
        'example "threshold: 60s"',
    ],
    [
      "stuckPods:\n  threshold: 60 s\n",
      'reprise.yaml:2: stuckPods.threshold: expected a duration such as "30s", "5m" or "1h30m", found "60 s"; for ' +
        'example "threshold: 60s"',
    ],
    [
      "injection:\n  imagePullSecrets:\n    - a\n    - 5\n",
      'reprise.yaml:2: injection.imagePullSecrets: expected a list of Secret names, found the list ["a",5]; for ' +
        'example "imagePullSecrets: []"',
    ],
    [
      "injection:\n  defaultMaxRestarts: -1\n",
      "reprise.yaml:2: injection.defaultMaxRestarts: expected a whole number from 0 to 2147483647, found -1; for " +
        'example "defaultMaxRestarts: 10"',
    ],
    [
      "injection:\n  agentResources: all\n",
      "reprise.yaml:2: injection.agentResources: expected none, or a map with cpu, guaranteedCpu and memory, found " +
        '"all"; for example "agentResources: {cpu: 10m, guaranteedCpu: 100m, memory: 64Mi}"',
    ],
    [
      "injection:\n  agentResources:\n    mem: 64Mi\n",
      "reprise.yaml:3: injection.agentResources.mem is not a known setting; remove it (known here: cpu, " +
        "guaranteedCpu, memory)",
    ],
    [
      "injection:\n  agentResources:\n    memory: 64 MB\n",
      'reprise.yaml:3: injection.agentResources.memory: expected a Kubernetes quantity such as "100m" or "64Mi", ' +
        'found "64 MB"; for example "memory: 64Mi"',
    ],
    [
      "controller: [a]\n",
      'reprise.yaml:1: controller: expected a map of settings, found the list ["a"]; indent its settings on the ' +
        "lines below it",
    ],
    [
      "just text\n",
      'reprise.yaml:1: the file: expected a map of settings, found "just text"; indent its settings on the lines ' +
        "below it",
    ],
  ])("reports line, expected value, found value and an example: %j", (text, line) => {
    expect(problemsOf(text)).toEqual([line]);
  });

  it("rejects exit code 0 for restarts, which the kubelet treats as success", () => {
    expect(problemsOf("injection: {restartExitCode: 0}")).toHaveLength(1);
  });

  it("reports all problems of a file at once, one line each", () => {
    const lines = problemsOf("logLevle: debug\ninjection:\n  restartExitCode: x\n  defualt: enabled\nwebhook: 5\n");
    expect(lines.map((line) => line.slice(0, line.indexOf(": ")))).toEqual(
      expect.arrayContaining(["reprise.yaml:1", "reprise.yaml:3", "reprise.yaml:4", "reprise.yaml:5"]),
    );
    expect(lines).toHaveLength(4);
  });

  it("reports broken YAML with its line and nothing else", () => {
    expect(problemsOf("logLevel: info\nwebhook: {port: 1\n")[0]).toMatch(
      /^reprise\.yaml:[23]: not valid YAML: .+; correct this line$/,
    );
    expect(problemsOf("logLevel: info\nlogLevel: debug\n")).toEqual([
      "reprise.yaml:2: not valid YAML: Map keys must be unique; correct this line",
    ]);
  });

  it.each(["logLevel: *nowhere", "injection: &self {default: *self}", "injection: {imagePullSecrets: &self [*self]}"])(
    "reports the broken alias in %j",
    (text) => {
      expect(problemsOf(text)).toEqual([expect.stringMatching(/^reprise\.yaml:1: not valid YAML: /)]);
    },
  );

  it("returns settings or throws a ConfigError for any text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(() => problemsOf(text)).not.toThrow();
      }),
    );
  });
});
