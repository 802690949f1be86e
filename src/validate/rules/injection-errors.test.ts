import { expect, it } from "vitest";
import { create, injected, injectionErrors, refusing } from "../../../test/builders/injection.ts";
import { container } from "../../../test/builders/jobset.ts";
import {
  annotated,
  describeRule,
  intact,
  jobPath,
  plain,
  podPath,
  type RuleExamples,
  restartRule,
  SKIPPED,
  upTo,
  withRestartRules,
} from "../../../test/builders/rule-examples.ts";
import { AGENT, ANNOTATION } from "../../api/names.ts";
import { inject } from "../../inject/inject.ts";
import type { JsonObject } from "../../json/types.ts";
import type { Rule } from "../rule.ts";
import { RULES } from "../rules.ts";
import {
  agentName,
  agentResources,
  completions,
  exitCodes,
  failurePolicy,
  failurePolicyRuleName,
  hangDetection,
  linuxOnly,
  malformed,
  nodeLossGrace,
  participation,
  ruleLimit,
  successPolicy,
  toggle,
} from "./injection-errors.ts";

const EXAMPLES: readonly (readonly [Rule, Omit<RuleExamples, "ignores">])[] = [
  [
    malformed,
    {
      accepts: ["an intact injected JobSet", intact],
      reports: [
        "a replicatedJob without containers",
        plain({ containers: [] }).build(),
        "spec.replicatedJobs[0]",
        /has no name, or no containers with names/,
      ],
    },
  ],
  [
    toggle,
    {
      accepts: ["true", annotated(ANNOTATION.inject, "true")],
      reports: [
        "yes",
        annotated(ANNOTATION.inject, "yes"),
        `metadata.annotations[${ANNOTATION.inject}]`,
        /neither "true" nor "false"/,
      ],
    },
  ],
  [
    participation,
    {
      accepts: ["the name of a replicatedJob", annotated(ANNOTATION.replicatedJobs, "workers")],
      reports: [
        "a mistyped name, with the name that was meant",
        annotated(ANNOTATION.replicatedJobs, "worker"),
        `metadata.annotations[${ANNOTATION.replicatedJobs}]`,
        /did you mean "workers"\?/,
      ],
    },
  ],
  [
    exitCodes,
    {
      accepts: ["codes and ranges", annotated(ANNOTATION.failExitCodes, "40-50,137")],
      reports: [
        "a code above 255",
        annotated(ANNOTATION.failExitCodes, "40-300"),
        `metadata.annotations[${ANNOTATION.failExitCodes}]`,
        /beyond 255/,
      ],
    },
  ],
  [
    failurePolicy,
    {
      accepts: [
        "a policy that was known at injection",
        injected(create(annotated(ANNOTATION.failurePolicy, "cuda-default"))),
      ],
      reports: [
        "an unknown policy",
        annotated(ANNOTATION.failurePolicy, "cuda-default"),
        `metadata.annotations[${ANNOTATION.failurePolicy}]`,
        /"cuda-default" is not defined in the config file; define it there/,
      ],
    },
  ],
  [
    nodeLossGrace,
    {
      accepts: ["a duration", annotated(ANNOTATION.nodeLossGrace, "30s")],
      reports: [
        "a number without a unit",
        annotated(ANNOTATION.nodeLossGrace, "30"),
        `metadata.annotations[${ANNOTATION.nodeLossGrace}]`,
        /is not a duration/,
      ],
    },
  ],
  [
    hangDetection,
    {
      accepts: ["a duration", annotated(ANNOTATION.hangAfter, "15m")],
      reports: [
        "a number without a unit",
        annotated(ANNOTATION.hangAfter, "15"),
        `metadata.annotations[${ANNOTATION.hangAfter}]`,
        /is not "learned" or a duration/,
      ],
    },
  ],
  [
    agentResources,
    {
      accepts: ["a quantity", annotated(ANNOTATION.agentMemory, "64Mi")],
      reports: [
        "a fraction of a byte",
        annotated(ANNOTATION.agentMemory, "64m"),
        `metadata.annotations[${ANNOTATION.agentMemory}]`,
        /at least 1Mi/,
      ],
    },
  ],
  [
    completions,
    {
      accepts: ["completions equal to parallelism", plain({ job: { completions: 2, parallelism: 2 } }).build()],
      reports: [
        "completions above parallelism",
        plain({ job: { completions: 4, parallelism: 2 } }).build(),
        `${jobPath}.completions`,
        /4 completions, but parallelism is 2/,
      ],
    },
  ],
  [
    successPolicy,
    {
      accepts: ["a Job without a successPolicy", plain().build()],
      reports: [
        "the successPolicy of a Job",
        plain({ job: { successPolicy: { rules: [{ succeededIndexes: "0" }] } } }).build(),
        `${jobPath}.successPolicy`,
        /deletes running Pods of the group.*reprise\.dev\/replicated-jobs/,
      ],
    },
  ],
  [
    agentName,
    {
      accepts: ["an intact injected JobSet", intact],
      reports: [
        "a container with the name of the agent",
        plain({ containers: [container(AGENT.container)] }).build(),
        `${podPath}.containers`,
        /rename your container/,
      ],
    },
  ],
  [
    linuxOnly,
    {
      accepts: ["Linux", plain({ pod: { os: { name: "linux" } } }).build()],
      reports: [
        "Windows",
        plain({ pod: { os: { name: "windows" } } }).build(),
        `${podPath}.os.name`,
        /runs on Linux only/,
      ],
    },
  ],
  [
    ruleLimit,
    {
      accepts: ["19 restartPolicyRules", plain(withRestartRules(rules(19))).build()],
      reports: [
        "20 restartPolicyRules and the injected one",
        plain(withRestartRules(rules(20))).build(),
        `${podPath}.containers[0].restartPolicyRules`,
        /20 rules, and Kubernetes allows 20 with the injected one/,
      ],
    },
  ],
  [
    failurePolicyRuleName,
    {
      accepts: ["exit codes that fail the JobSet", annotated(ANNOTATION.failExitCodes, "42")],
      reports: [
        "a rule with the reserved name",
        plain()
          .spec({ failurePolicy: { maxRestarts: 3, rules: [{ name: "repriseFailExitCodes", action: "FailJobSet" }] } })
          .annotation(ANNOTATION.failExitCodes, "42")
          .build(),
        "spec.failurePolicy.rules",
        /rename your rule/,
      ],
    },
  ],
];

for (const [rule, examples] of EXAMPLES) describeRule(rule, { ...examples, ignores: SKIPPED }, refusing);

it.each(EXAMPLES.map(([rule, { reports }]) => [rule.name, reports[1]] as const))(
  "injection rejects what the rule %s reports",
  (name, object) => {
    const outcome = inject({ operation: "CREATE", namespace: "default", object, config: refusing });
    expect(injectionErrors(outcome).map(({ rule }) => rule)).toContain(name);
  },
);

it("every error of injection belongs to a rule", () => {
  const names = RULES.map(({ name }) => name);
  for (const [, { reports }] of EXAMPLES) {
    const outcome = inject({ operation: "CREATE", namespace: "default", object: reports[1], config: refusing });
    for (const { rule } of injectionErrors(outcome)) expect(names).toContain(rule);
  }
});

function rules(count: number): JsonObject[] {
  return upTo(count).map((code) => restartRule("RestartAllContainers", [code]));
}
