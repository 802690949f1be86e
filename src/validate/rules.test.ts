// Every rule with a JobSet that passes, one that it finds fault with, and one that it has nothing to say about.
import { describe, expect, it, test } from "vitest";
import { at, changed, create, injected, POD, POD_SPEC, settings } from "../../test/builders/injection.ts";
import { container, type JobSetBuilder, jobSet } from "../../test/builders/jobset.ts";
import type { Finding, RuleResult } from "../api/admission.ts";
import { AGENT, ANNOTATION, LABEL } from "../api/names.ts";
import { inject } from "../inject/inject.ts";
import type { Json, JsonObject } from "../json/types.ts";
import { RULES } from "./rules.ts";
import { validate } from "./validate.ts";

interface Example {
  readonly pass: JsonObject;
  readonly fail: JsonObject;
  readonly path: string;
  readonly says: RegExp;
  /** Left out where every JobSet that is not ours will do. */
  readonly notApplicable?: JsonObject;
}

const JOB = ["spec", "replicatedJobs", 0, "template", "spec"] as const;
const AGENT_AT = [...POD_SPEC, "initContainers", 0] as const;
const GATE_AT = [...AGENT_AT, "lifecycle", "postStart", "exec"] as const;
const jobPath = "spec.replicatedJobs[0].template.spec";
const podPath = `${jobPath}.template.spec`;
const agentPath = `${podPath}.initContainers[0]`;

/** A JobSet with which nothing is wrong. */
function good(): JobSetBuilder {
  return jobSet().spec({ failurePolicy: { maxRestarts: 3 } });
}

function plain(parts: Parameters<JobSetBuilder["replicatedJob"]>[1] = { pods: 2 }): JobSetBuilder {
  return good().replicatedJob("workers", parts);
}

function annotated(key: string, value: string): JsonObject {
  return plain().annotation(key, value).build();
}

const done = injected(create(plain().build()));
const notOurs = annotated(ANNOTATION.inject, "false");
const notInjected = plain().build();

function broken(path: readonly (string | number)[], value: Json): JsonObject {
  return changed(done, path, value);
}

function many(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

function ownRule(action: string, values: readonly number[]): JsonObject {
  return { action, exitCodes: { operator: "In", values: [...values] } };
}

const ownRules = (rules: JsonObject[]) => ({
  pods: 1,
  containers: [container("train", { restartPolicy: "Never", restartPolicyRules: rules })],
});

const userPolicy = (rule: JsonObject) => ({ pods: 1, job: { podFailurePolicy: { rules: [rule] } } });

const upstream = { failurePolicy: { maxRestarts: 3, restartStrategy: "InPlaceRestart" } };

const EXAMPLES: Readonly<Record<string, Example>> = {
  malformed: {
    pass: done,
    fail: plain({ containers: [] }).build(),
    path: "spec.replicatedJobs[0]",
    says: /must have a name/,
  },
  toggle: {
    pass: annotated(ANNOTATION.inject, "true"),
    fail: annotated(ANNOTATION.inject, "yes"),
    path: `metadata.annotations[${ANNOTATION.inject}]`,
    says: /neither "true" nor "false"/,
  },
  participation: {
    pass: annotated(ANNOTATION.replicatedJobs, "workers"),
    fail: annotated(ANNOTATION.replicatedJobs, "worker"),
    path: `metadata.annotations[${ANNOTATION.replicatedJobs}]`,
    says: /did you mean "workers"\?/,
  },
  "exit-codes": {
    pass: annotated(ANNOTATION.failExitCodes, "40-50,137"),
    fail: annotated(ANNOTATION.failExitCodes, "40-300"),
    path: `metadata.annotations[${ANNOTATION.failExitCodes}]`,
    says: /beyond 255/,
  },
  "failure-policy": {
    pass: injected(create(annotated(ANNOTATION.failurePolicy, "cuda-default"))),
    fail: annotated(ANNOTATION.failurePolicy, "cuda-default"),
    path: `metadata.annotations[${ANNOTATION.failurePolicy}]`,
    says: /"cuda-default" is not a failure policy of the config file; define it there/,
  },
  "node-loss-grace": {
    pass: annotated(ANNOTATION.nodeLossGrace, "30s"),
    fail: annotated(ANNOTATION.nodeLossGrace, "30"),
    path: `metadata.annotations[${ANNOTATION.nodeLossGrace}]`,
    says: /is not a duration/,
  },
  "agent-resources": {
    pass: annotated(ANNOTATION.agentMemory, "64Mi"),
    fail: annotated(ANNOTATION.agentMemory, "64m"),
    path: `metadata.annotations[${ANNOTATION.agentMemory}]`,
    says: /at least 1Mi/,
  },
  "max-restarts": {
    pass: annotated(ANNOTATION.maxRestarts, "10"),
    fail: annotated(ANNOTATION.maxRestarts, "ten"),
    path: `metadata.annotations[${ANNOTATION.maxRestarts}]`,
    says: /"ten" is not a whole number from 0/,
    notApplicable: plain().build(),
  },
  "escalate-after": {
    pass: annotated(ANNOTATION.escalateAfter, "3"),
    fail: annotated(ANNOTATION.escalateAfter, "-1"),
    path: `metadata.annotations[${ANNOTATION.escalateAfter}]`,
    says: /whole number from 0 \(never\)/,
    notApplicable: plain().build(),
  },
  "on-partial-success": {
    pass: annotated(ANNOTATION.onPartialSuccess, "continue"),
    fail: annotated(ANNOTATION.onPartialSuccess, "Recreate"),
    path: `metadata.annotations[${ANNOTATION.onPartialSuccess}]`,
    says: /"Recreate" is not "recreate" .* or "continue"/,
    notApplicable: plain().build(),
  },
  "force-delete": {
    pass: annotated(ANNOTATION.safeToForcefullyDelete, "true"),
    fail: annotated(ANNOTATION.safeToForcefullyDelete, "yes"),
    path: `metadata.annotations[${ANNOTATION.safeToForcefullyDelete}]`,
    says: /"yes" is not "true" or "false"/,
    notApplicable: plain().build(),
  },
  "unknown-annotations": {
    pass: annotated(ANNOTATION.maxRestarts, "3"),
    fail: annotated("reprise.dev/max-restart", "3"),
    path: "metadata.annotations[reprise.dev/max-restart]",
    says: /did you mean reprise\.dev\/max-restarts\?/,
    notApplicable: { apiVersion: "v1", kind: "ConfigMap" },
  },
  "misplaced-keys": {
    pass: done,
    fail: plain().label(ANNOTATION.inject, "false").build(),
    path: `metadata.labels[${ANNOTATION.inject}]`,
    says: /move it to metadata\.annotations/,
    notApplicable: { apiVersion: "v1", kind: "ConfigMap" },
  },
  "restart-budget": {
    pass: annotated(ANNOTATION.maxRestarts, "1"),
    fail: annotated(ANNOTATION.maxRestarts, "0"),
    path: `metadata.annotations[${ANNOTATION.maxRestarts}]`,
    says: /the first failure fails the JobSet/,
  },
  completions: {
    pass: plain({ job: { completions: 2, parallelism: 2 } }).build(),
    fail: plain({ job: { completions: 4, parallelism: 2 } }).build(),
    path: `${jobPath}.completions`,
    says: /4 completions, but parallelism is 2/,
  },
  "success-policy": {
    pass: plain().build(),
    fail: plain({ job: { successPolicy: { rules: [{ succeededIndexes: "0" }] } } }).build(),
    path: `${jobPath}.successPolicy`,
    says: /ends Pods of the group while others still run.*reprise\.dev\/replicated-jobs/,
  },
  "agent-name": {
    pass: done,
    fail: plain({ containers: [container(AGENT.container)] }).build(),
    path: `${podPath}.containers`,
    says: /rename your container/,
  },
  "token-private": {
    pass: done,
    fail: plain({
      containers: [container("train", { volumeMounts: [{ name: AGENT.tokenVolume, mountPath: "/x" }] })],
    }).build(),
    path: `${podPath}.containers[0].volumeMounts`,
    says: /for the agent alone; remove the mount/,
  },
  "linux-only": {
    pass: plain({ pod: { os: { name: "linux" } } }).build(),
    fail: plain({ pod: { os: { name: "windows" } } }).build(),
    path: `${podPath}.os.name`,
    says: /runs on Linux only/,
  },
  "rule-limit": {
    pass: plain(ownRules(many(19).map((code) => ownRule("RestartAllContainers", [code])))).build(),
    fail: plain(ownRules(many(20).map((code) => ownRule("RestartAllContainers", [code])))).build(),
    path: `${podPath}.containers[0].restartPolicyRules`,
    says: /21 rules .* takes 20/,
  },
  "value-limit": {
    pass: plain(ownRules([ownRule("RestartAllContainers", many(255))])).build(),
    fail: plain(ownRules([ownRule("RestartAllContainers", many(256))])).build(),
    path: `${podPath}.containers[0].restartPolicyRules[0].exitCodes.values`,
    says: /256 exit codes, and Kubernetes takes 255/,
  },
  "failure-policy-rule-name": {
    pass: annotated(ANNOTATION.failExitCodes, "42"),
    fail: plain()
      .spec({ failurePolicy: { maxRestarts: 3, rules: [{ name: "repriseFailExitCodes", action: "FailJobSet" }] } })
      .annotation(ANNOTATION.failExitCodes, "42")
      .build(),
    path: "spec.failurePolicy.rules",
    says: /rename your rule/,
  },
  "own-restart-rules": {
    pass: plain(ownRules([ownRule("RestartAllContainers", [3])])).build(),
    fail: plain(ownRules([ownRule("Restart", [3, 4])])).build(),
    path: `${podPath}.containers[0].restartPolicyRules`,
    says: /restart this container alone on 3-4/,
  },
  "pod-failure-policy": {
    pass: plain(
      userPolicy({ action: "FailJob", onExitCodes: { containerName: "train", operator: "In", values: [42] } }),
    )
      .annotation(ANNOTATION.recreateExitCodes, "42")
      .build(),
    fail: plain(
      userPolicy({ action: "FailJob", onExitCodes: { containerName: "train", operator: "In", values: [42] } }),
    ).build(),
    path: `${jobPath}.podFailurePolicy.rules[0].onExitCodes.values`,
    says: /42 of a worker restart in place and never reach this rule/,
    notApplicable: plain().build(),
  },
  "upstream-protocol": {
    pass: plain().spec(upstream).build(),
    fail: plain().spec(upstream).annotation(ANNOTATION.maxRestarts, "3").build(),
    path: `metadata.annotations[${ANNOTATION.maxRestarts}]`,
    says: /has no effect with restartStrategy InPlaceRestart/,
    notApplicable: plain().build(),
  },
  injected: {
    pass: done,
    fail: notInjected,
    path: "spec.replicatedJobs",
    says: /opted in but not injected/,
    notApplicable: annotated(ANNOTATION.failExitCodes, "0"),
  },
  "agent-first": {
    pass: done,
    fail: broken([...POD_SPEC, "initContainers"], [container("early"), at(done, ...AGENT_AT) ?? null]),
    path: `${podPath}.initContainers[0]`,
    says: /"early" stands in front of reprise-agent/,
    notApplicable: notInjected,
  },
  "agent-process": {
    pass: broken([...AGENT_AT, "image"], "mirror.example/reprise:test"),
    fail: broken([...AGENT_AT, "restartPolicy"], null),
    path: `${agentPath}.restartPolicy`,
    says: /is not set and not "Always"/,
    notApplicable: notInjected,
  },
  "agent-environment": {
    pass: broken([...AGENT_AT, "env"], [...list(done, ...AGENT_AT, "env"), { name: "HTTP_PROXY", value: "proxy" }]),
    fail: broken([...AGENT_AT, "env"], list(done, ...AGENT_AT, "env").slice(1)),
    path: `${agentPath}.env[NAMESPACE]`,
    says: /is missing, and the agent cannot start/,
    notApplicable: notInjected,
  },
  "agent-gate": {
    pass: broken([...GATE_AT, "command"], ["/vault/env", ...list(done, ...GATE_AT, "command")]),
    fail: broken([...AGENT_AT, "lifecycle"], null),
    path: `${agentPath}.lifecycle.postStart.exec`,
    says: /is not set, so the workers would not wait/,
    notApplicable: notInjected,
  },
  "agent-restart-rule": {
    pass: done,
    fail: broken(
      [...AGENT_AT, "restartPolicyRules"],
      [ownRule("Restart", [settings.restartExitCode]), ...list(done, ...AGENT_AT, "restartPolicyRules")],
    ),
    path: `${agentPath}.restartPolicyRules`,
    says: /do not restart the Pod when the agent exits with 88/,
    notApplicable: notInjected,
  },
  "agent-token": {
    pass: broken(
      [...AGENT_AT, "volumeMounts"],
      [...list(done, ...AGENT_AT, "volumeMounts"), { name: "ca", mountPath: "/etc/ca" }],
    ),
    fail: broken([...POD_SPEC, "volumes"], []),
    path: `${podPath}.volumes`,
    says: /is missing or holds no service account token/,
    notApplicable: notInjected,
  },
  "job-fields": {
    pass: done,
    fail: broken([...JOB, "backoffLimit"], 6),
    path: `${jobPath}.backoffLimit`,
    says: /is 6 and not 2147483647/,
    notApplicable: notInjected,
  },
  "pod-restart-policy": {
    pass: done,
    fail: broken([...POD_SPEC, "restartPolicy"], "OnFailure"),
    path: `${podPath}.restartPolicy`,
    says: /is "OnFailure" and not "Never"/,
    notApplicable: notInjected,
  },
  "worker-rules": {
    pass: done,
    fail: broken([...POD_SPEC, "containers", 0, "restartPolicyRules"], []),
    path: `${podPath}.containers[0].restartPolicyRules`,
    says: /lack the rule that restarts the Pod in place/,
    notApplicable: notInjected,
  },
  "fail-codes-compiled": {
    pass: injected(create(annotated(ANNOTATION.failExitCodes, "42"))),
    fail: broken([...JOB, "podFailurePolicy", "rules"], []),
    path: `${jobPath}.podFailurePolicy.rules`,
    says: /lack a rule that injection added/,
    notApplicable: notInjected,
  },
  marks: {
    pass: done,
    fail: broken([...POD, "metadata", "labels"], {}),
    path: `${jobPath}.template.metadata.labels[${LABEL.injected}]`,
    says: /the controller would not see these Pods/,
    notApplicable: notInjected,
  },
};

function list(object: JsonObject, ...path: readonly (string | number)[]): Json[] {
  const value = at(object, ...path);
  if (!Array.isArray(value)) throw new Error(`no list at ${path.join(".")}`);
  return value;
}

/** What a rule says about a JobSet as it is. */
function resultOf(rule: string, object: JsonObject): RuleResult | undefined {
  const { results } = validate({ operation: "CREATE", namespace: "default", object, config: settings });
  return results.find((result) => result.rule === rule);
}

function findingsOf(rule: string, object: JsonObject): readonly Finding[] {
  const result = resultOf(rule, object);
  return result !== undefined && "findings" in result ? result.findings : [];
}

test("there is an example for every rule", () => {
  expect(Object.keys(EXAMPLES)).toEqual(RULES.map(({ name }) => name));
});

describe.each(RULES)("$name", ({ name, severity }) => {
  const example = EXAMPLES[name];

  it("passes where nothing is wrong", () => {
    expect(example && resultOf(name, example.pass)).toMatchObject({ verdict: "pass" });
  });

  it("finds what is wrong, where, and says what to do", () => {
    expect(example && resultOf(name, example.fail)).toMatchObject({
      verdict: severity,
      findings: [{ rule: name, path: example?.path, message: expect.stringMatching(example?.says ?? /^$/) }],
    });
  });

  it("does not apply where it has nothing to say", () => {
    expect(resultOf(name, example?.notApplicable ?? notOurs)).toMatchObject({ verdict: "not-applicable" });
  });
});

test("every refusal of injection is a rule here, under the same name", () => {
  const refused = Object.values(EXAMPLES).flatMap(({ fail }) => {
    const outcome = inject({ operation: "CREATE", namespace: "default", object: fail, config: settings });
    return outcome.kind === "refused" ? outcome.errors : [];
  });
  expect(refused.length).toBeGreaterThan(10);
  const names = RULES.map(({ name }) => name);
  for (const { rule } of refused) expect(names).toContain(rule);
});

describe("what other webhooks may do to an agent", () => {
  it.each<[string, readonly (string | number)[], Json]>([
    ["another pull policy", [...AGENT_AT, "imagePullPolicy"], "Always"],
    ["other resources", [...AGENT_AT, "resources"], { requests: { cpu: "1" } }],
    ["a tighter security context", [...AGENT_AT, "securityContext"], { runAsUser: 1_000_680_000 }],
    ["a wrapped command", [...AGENT_AT, "command"], ["/wrapper", AGENT.binary]],
    ["an annotation on its Pod", [...POD, "metadata", "annotations"], { "mesh.example/inject": "false" }],
  ])("%s is fine", (_what, path, value) => {
    const { allowed, errors } = validate({
      operation: "CREATE",
      namespace: "default",
      object: broken(path, value),
      config: settings,
    });
    expect({ allowed, errors }).toEqual({ allowed: true, errors: [] });
  });
});

test("a restart rule of the user that takes a code of a class is pointed out", () => {
  const object = plain(ownRules([ownRule("RestartAllContainers", [42])]))
    .annotation(ANNOTATION.failExitCodes, "42")
    .build();
  expect(findingsOf("own-restart-rules", injected(create(object)))).toMatchObject([
    { message: expect.stringContaining("decide about 42 before the annotation") },
  ]);
});

test("a podFailurePolicy rule without a container would also match the agent", () => {
  const object = plain(userPolicy({ action: "FailJob", onExitCodes: { operator: "In", values: [137] } }))
    .annotation(ANNOTATION.recreateExitCodes, "137")
    .build();
  expect(findingsOf("pod-failure-policy", object)).toMatchObject([{ path: expect.stringMatching(/containerName$/) }]);
});

test("a JobSet that sets no budget at all is told that it is 0", () => {
  const object = jobSet().replicatedJob("workers").build();
  expect(findingsOf("restart-budget", object)).toMatchObject([
    { path: "spec.failurePolicy.maxRestarts", message: expect.stringContaining("is not set, which means 0") },
  ]);
});

test("a JobSet that lost its agent in one replicatedJob only is refused there", () => {
  const object = injected(create(plain().replicatedJob("driver", { pods: 1 }).build()));
  const half = changed(
    object,
    ["spec", "replicatedJobs", 1, "template", "spec", "template", "spec", "initContainers"],
    [],
  );
  expect(findingsOf("agent-first", half)).toMatchObject([
    { path: "spec.replicatedJobs[1].template.spec.template.spec.initContainers" },
  ]);
});

test("a hook that runs something else is no gate", () => {
  const object = broken([...GATE_AT, "command"], ["sleep", "1"]);
  expect(findingsOf("agent-gate", object)).toMatchObject([
    { path: `${agentPath}.lifecycle.postStart.exec`, message: expect.stringMatching(/does not wait for the barrier/) },
  ]);
});
