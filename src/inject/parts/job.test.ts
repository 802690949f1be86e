import { describe, expect, it } from "vitest";
import {
  create,
  injected,
  injectionErrors,
  refusing,
  templateOf,
  warningTexts,
} from "../../../test/builders/injection.ts";
import { container, jobSet } from "../../../test/builders/jobset.ts";
import { ANNOTATION, MAX_INT32 } from "../../api/names.ts";
import type { JsonObject } from "../../json/types.ts";
import { FAIL_JOB_SET_RULE } from "../../policy/compile.ts";

const IGNORE = { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] };

describe("the Job", () => {
  it("replaces Pods without a limit, one per slot", () => {
    const { job } = templateOf(injected(create(jobSet().replicatedJob("workers", { pods: 4 }).build())));
    expect(job).toMatchObject({
      backoffLimit: MAX_INT32,
      backoffLimitPerIndex: MAX_INT32,
      completionMode: "Indexed",
      podReplacementPolicy: "Failed",
      completions: 4,
      parallelism: 4,
      podFailurePolicy: { rules: [IGNORE] },
    });
  });

  it.each<[JsonObject, string]>([
    [{ backoffLimitPerIndex: 3 }, "backoffLimitPerIndex: 3 was replaced by 2147483647"],
    [
      { podReplacementPolicy: "TerminatingOrFailed" },
      'podReplacementPolicy: "TerminatingOrFailed" was replaced by "Failed"',
    ],
  ])("overwrites %j with a warning", (job, text) => {
    const outcome = create(jobSet().replicatedJob("workers", { pods: 1, job }).build());
    expect(warningTexts(outcome)).toEqual([expect.stringContaining(`spec.replicatedJobs[0].template.spec.${text}`)]);
    expect(warningTexts(outcome)[0]?.length).toBeLessThanOrEqual(256 - "reprise: ".length);
  });

  it("warns once about a field that it overwrote many times", () => {
    const builder = jobSet();
    for (const name of ["a", "b", "c"]) builder.replicatedJob(name, { pods: 1, job: { backoffLimitPerIndex: 0 } });
    expect(warningTexts(create(builder.build()))).toEqual([expect.stringMatching(/\(and 2 more like it\)$/)]);
  });

  it.each<[JsonObject]>([
    [{ backoffLimit: MAX_INT32, completionMode: "Indexed" }],
    [{ backoffLimit: 0 }],
    [{ completionMode: "NonIndexed" }],
  ])("does not warn about %j and JobSet's default OnFailure, because nothing is lost", (job) => {
    const object = jobSet().replicatedJob("workers", {
      job,
      pod: { restartPolicy: "OnFailure" },
    });
    const outcome = create(object.build());
    expect(outcome.warnings).toEqual([]);
    expect(templateOf(injected(outcome)).podSpec["restartPolicy"]).toBe("Never");
  });

  it.each<[JsonObject, number]>([
    [{}, 1],
    [{ parallelism: 4 }, 4],
    [{ completions: 1 }, 1],
    [{ completions: null, parallelism: 3 }, 3],
  ])("completes %j where that keeps its meaning", (job, pods) => {
    const { job: result } = templateOf(injected(create(jobSet().replicatedJob("workers", { job }).build())));
    expect([result["completions"], result["parallelism"]]).toEqual([pods, pods]);
  });

  it.each<[JsonObject, string]>([
    [{ completions: 4 }, "parallelism is not set, which means 1"],
    [{ completions: 4, parallelism: 2 }, "4 completions, but parallelism is 2"],
  ])("does not complete %j, because a guess would change how many Pods run", (job, text) => {
    const outcome = create(jobSet().replicatedJob("workers", { job }).build());
    expect(outcome.warnings).toEqual([
      expect.objectContaining({
        path: "spec.replicatedJobs[0].template.spec.completions",
        message: expect.stringContaining(text),
      }),
    ]);
  });
});

describe("the failure policy", () => {
  const own = { action: "FailIndex", onExitCodes: { operator: "In", values: [3] } };

  it("keeps the user's podFailurePolicy rules first", () => {
    const object = jobSet()
      .annotation(ANNOTATION.failExitCodes, "42")
      .replicatedJob("workers", { job: { podFailurePolicy: { rules: [own] } } });
    expect(templateOf(injected(create(object.build()))).job["podFailurePolicy"]).toEqual({
      rules: [
        own,
        IGNORE,
        { action: "FailJob", onExitCodes: { containerName: "train", operator: "In", values: [42] } },
      ],
    });
  });

  it("does not repeat a rule that the user already has", () => {
    const object = jobSet().replicatedJob("workers", { job: { podFailurePolicy: { rules: [IGNORE, own] } } });
    expect(templateOf(injected(create(object.build()))).job["podFailurePolicy"]).toEqual({ rules: [IGNORE, own] });
  });

  it("cannot have more than 20 rules", () => {
    const rules = Array.from({ length: 20 }, (_, index) => ({
      action: "Count",
      onExitCodes: { operator: "In", values: [index + 1] },
    }));
    const object = jobSet().replicatedJob("workers", { job: { podFailurePolicy: { rules } } });
    expect(injectionErrors(create(object.build(), refusing))).toEqual([
      expect.objectContaining({
        rule: "rule-limit",
        path: "spec.replicatedJobs[0].template.spec.podFailurePolicy.rules",
      }),
    ]);
  });

  it("cannot have rules for more than 19 workers", () => {
    const containers = Array.from({ length: 20 }, (_, index) => container(`c${index}`));
    const object = jobSet().annotation(ANNOTATION.failExitCodes, "42").replicatedJob("workers", { containers });
    expect(injectionErrors(create(object.build(), refusing))[0]?.rule).toBe("rule-limit");
  });

  it("fails the JobSet on a fail code, after the user's own rules", () => {
    const first = { name: "mine", action: "RestartJobSet", onJobFailureReasons: ["DeadlineExceeded"] };
    const object = jobSet()
      .annotation(ANNOTATION.failExitCodes, "42")
      .spec({ failurePolicy: { maxRestarts: 3, rules: [first] } })
      .replicatedJob("workers");
    expect(injected(create(object.build()))["spec"]).toMatchObject({
      failurePolicy: {
        maxRestarts: 3,
        rules: [first, { name: FAIL_JOB_SET_RULE, action: "FailJobSet", onJobFailureReasons: ["PodFailurePolicy"] }],
      },
    });
  });

  it("adds no JobSet rule without fail codes", () => {
    const object = jobSet().annotation(ANNOTATION.recreateExitCodes, "7").replicatedJob("workers");
    expect(injected(create(object.build()))["spec"]).not.toHaveProperty("failurePolicy");
  });

  it("targets only participating replicatedJobs", () => {
    const object = jobSet()
      .annotation(ANNOTATION.failExitCodes, "42")
      .annotation(ANNOTATION.replicatedJobs, "workers")
      .replicatedJob("driver")
      .replicatedJob("workers");
    expect(injected(create(object.build()))["spec"]).toMatchObject({
      failurePolicy: { rules: [{ targetReplicatedJobs: ["workers"] }] },
    });
  });

  it("rejects a user's rule of the same name", () => {
    const object = jobSet()
      .annotation(ANNOTATION.failExitCodes, "42")
      .spec({ failurePolicy: { rules: [{ name: FAIL_JOB_SET_RULE, action: "RestartJobSet" }] } })
      .replicatedJob("workers");
    expect(injectionErrors(create(object.build()))[0]?.rule).toBe("failure-policy-rule-name");
  });

  it("rejects invalid exit codes", () => {
    const object = jobSet().annotation(ANNOTATION.failExitCodes, "0-5").replicatedJob("workers");
    expect(injectionErrors(create(object.build()))[0]?.rule).toBe("exit-codes");
  });
});
