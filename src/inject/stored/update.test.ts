import { describe, expect, it } from "vitest";
import {
  at,
  changed,
  create,
  injected,
  POD,
  POD_SPEC,
  settings,
  templateOf,
  update,
  warningTexts,
} from "../../../test/builders/injection.ts";
import { container, type JobSetBuilder, jobSet } from "../../../test/builders/jobset.ts";
import { stored, withCrdDefaults } from "../../../test/builders/stored.ts";
import { ANNOTATION, LABEL, MAX_INT32 } from "../../api/names.ts";
import { createPatch } from "../../json/patch.ts";
import type { JsonObject } from "../../json/types.ts";

/** JobSets whose additions must all survive an update. */
const SHAPES: readonly [string, () => JobSetBuilder][] = [
  ["a minimal one", () => jobSet().replicatedJob("workers")],
  [
    "one with every annotation",
    () =>
      jobSet()
        .annotation(ANNOTATION.failurePolicy, "cuda-default")
        .annotation(ANNOTATION.failExitCodes, "40-50,137")
        .annotation(ANNOTATION.recreateExitCodes, "7")
        .annotation(ANNOTATION.nodeLossGrace, "30s")
        .annotation(ANNOTATION.agentCpu, "0.5")
        .annotation(ANNOTATION.agentMemory, "1024Mi")
        .annotation(ANNOTATION.safeToForcefullyDelete, "true")
        .annotation(ANNOTATION.replicatedJobs, "workers")
        .annotation(ANNOTATION.workerContainers, "train")
        .replicatedJob("driver", { containers: [container("driver")] })
        .replicatedJob("workers", { pods: 4, containers: [container("train"), container("log")] }),
  ],
  [
    "one whose own values are overwritten",
    () =>
      jobSet().replicatedJob("workers", {
        pods: 2,
        job: { backoffLimit: 0, podReplacementPolicy: "TerminatingOrFailed", completionMode: "NonIndexed" },
        pod: { restartPolicy: "OnFailure" },
        containers: [container("train", { restartPolicy: "OnFailure" })],
      }),
  ],
  [
    "one with policies of its own",
    () =>
      jobSet()
        .annotation(ANNOTATION.failExitCodes, "42")
        .spec({ failurePolicy: { maxRestarts: 3, rules: [{ action: "RestartJobSet" }] } })
        .replicatedJob("workers", {
          pods: 2,
          job: {
            podFailurePolicy: {
              rules: [
                { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
                { action: "FailIndex", onExitCodes: { operator: "In", values: [3] } },
              ],
            },
          },
          containers: [
            container("train", {
              restartPolicy: "Never",
              restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [3] } }],
              resources: { limits: { cpu: "1000m", memory: "1024Mi" }, requests: { cpu: 1, memory: "1Gi" } },
            }),
          ],
          initContainers: [container("fetch"), container("mesh", { restartPolicy: "Always" })],
        }),
  ],
  [
    "one whose own rules fail the Job, with retries of its initContainer and a part that is left out",
    () =>
      jobSet()
        .annotation(ANNOTATION.failExitCodes, "42")
        .replicatedJob("workers", {
          pods: 2,
          job: {
            podFailurePolicy: {
              rules: [
                { action: "Count", onExitCodes: { operator: "In", values: [7] } },
                { action: "FailJob", onExitCodes: { containerName: "train", operator: "NotIn", values: [8, 9] } },
                { action: "FailJob", onExitCodes: { operator: "In", values: [7, 8] } },
              ],
            },
          },
          containers: [container("train"), container("log", { terminationMessagePolicy: "File" })],
          initContainers: [container("fetch")],
        })
        .replicatedJob("queue", { job: { completions: 4, parallelism: 2 } }),
  ],
  [
    "one with upstream's protocol",
    () =>
      jobSet()
        .spec({ failurePolicy: { restartStrategy: "InPlaceRestart" } })
        .replicatedJob("workers", { pods: 2 }),
  ],
];

describe.each(SHAPES)("an update of %s", (_shape, builder) => {
  const old = () => stored(injected(create(builder().build())));

  it("with the plain file keeps the stored spec exactly", () => {
    const live = old();
    const outcome = update(withCrdDefaults(builder().build()), live);
    expect(injected(outcome)["spec"]).toEqual(live["spec"]);
    expect(at(injected(outcome), "metadata", "labels")).toEqual(at(live, "metadata", "labels"));
    expect(at(injected(outcome), "metadata", "annotations")).toEqual(at(live, "metadata", "annotations"));
  });

  it("without changes has an empty patch and no warnings", () => {
    const live = old();
    const sent = structuredClone(live);
    const outcome = update(sent, live);
    expect(createPatch(sent, injected(outcome))).toEqual([]);
    expect(outcome.warnings).toEqual([]);
  });

  it("restores the same under another config and release", () => {
    const live = old();
    const other = {
      ...settings,
      agentImage: "registry.example/reprise:next",
      restartExitCode: 1,
      imagePullSecrets: ["new"],
      agentResources: { cpu: "1", guaranteedCpu: "2", memory: "1Gi" },
    };
    expect(injected(update(withCrdDefaults(builder().build()), live, other))["spec"]).toEqual(live["spec"]);
  });

  it("is stable when called again", () => {
    const live = old();
    const once = injected(update(withCrdDefaults(builder().build()), live));
    expect(createPatch(once, injected(update(once, live)))).toEqual([]);
  });

  it("changes only the label that a user adds", () => {
    const live = old();
    const sent = changed(live, ["metadata", "labels", "team"], "a");
    expect(createPatch(sent, injected(update(sent, live)))).toEqual([]);
  });

  it("lets suspend and resume through", () => {
    const live = old();
    const outcome = injected(update(withCrdDefaults(builder().suspended().build()), live));
    expect(outcome["spec"]).toEqual({ ...Object(live["spec"]), suspend: true });
  });

  it("does not change its inputs", () => {
    const live = old();
    const sent = withCrdDefaults(builder().build());
    const copies = structuredClone([live, sent]);
    update(sent, live);
    expect([live, sent]).toEqual(copies);
  });
});

describe("an update", () => {
  const builder = (image = "train:1") =>
    jobSet().replicatedJob("workers", { pods: 2, containers: [container("train", { image })] });
  const live = () => stored(injected(create(builder().build())));

  it("passes a change of the user's own fields on to JobSet", () => {
    const result = injected(update(withCrdDefaults(builder("train:2").build()), live()));
    expect(at(result, ...POD_SPEC, "containers", 0, "image")).toBe("train:2");
    expect(result["spec"]).not.toEqual(live()["spec"]);
    expect(at(result, ...POD_SPEC, "initContainers")).toEqual(at(live(), ...POD_SPEC, "initContainers"));
  });

  it.each<[string, (builder: JobSetBuilder) => JobSetBuilder]>([
    ["a replicatedJob that is added", (each) => each.replicatedJob("more")],
    ["a failure policy that is added", (each) => each.spec({ failurePolicy: { maxRestarts: 9 } })],
    [
      "another number of Pods",
      () => jobSet().replicatedJob("workers", { pods: 3, containers: [container("train", { image: "train:1" })] }),
    ],
    ["another replicatedJob", () => jobSet().replicatedJob("others", { pods: 2 })],
  ])("passes %s on to JobSet", (_case, change) => {
    const result = injected(update(withCrdDefaults(change(builder()).build()), live()));
    expect(result["spec"]).not.toEqual(live()["spec"]);
  });

  it("does not bring back a rule that the user removed", () => {
    const own = { action: "FailJob", onExitCodes: { operator: "In", containerName: "train", values: [9] } };
    const before = jobSet().replicatedJob("workers", { pods: 1, job: { podFailurePolicy: { rules: [own] } } });
    const old = stored(injected(create(before.build())));
    const result = injected(update(withCrdDefaults(jobSet().replicatedJob("workers", { pods: 1 }).build()), old));
    expect(JSON.stringify(templateOf(result).job["podFailurePolicy"])).not.toContain("FailJob");
  });

  it("applies what JobSet allows to change in a suspended JobSet, and keeps the additions", () => {
    const suspended = jobSet()
      .annotation(ANNOTATION.nodeLossGrace, "30s")
      .suspended()
      .replicatedJob("workers", { pods: 2, podMetadata: { labels: { a: "1" } } });
    const old = stored(injected(create(suspended.build())));
    const toleration = { key: "gpu", operator: "Exists" };
    const sent = jobSet()
      .annotation(ANNOTATION.nodeLossGrace, "30s")
      .suspended()
      .replicatedJob("workers", {
        pods: 2,
        podMetadata: { labels: { b: "2" }, annotations: { c: "3" } },
        pod: { nodeSelector: { zone: "x" }, tolerations: [toleration], schedulingGates: [{ name: "g" }] },
      });
    const result = injected(update(withCrdDefaults(sent.build()), old));
    expect(at(result, ...POD, "metadata")).toEqual({
      labels: { b: "2", [LABEL.injected]: "true" },
      annotations: { c: "3", "kubectl.kubernetes.io/default-container": "train" },
    });
    const { podSpec } = templateOf(result);
    expect(podSpec).toMatchObject({ nodeSelector: { zone: "x" }, schedulingGates: [{ name: "g" }] });
    expect(podSpec["tolerations"]).toEqual([toleration, ...Object(templateOf(old).podSpec["tolerations"])]);
    // Everything else is compared by JobSet, and equal.
    const masked = (object: JsonObject) => {
      const { tolerations, nodeSelector, schedulingGates, ...rest } = templateOf(object).podSpec;
      return rest;
    };
    expect(masked(result)["initContainers"]).toEqual(masked(old)["initContainers"]);
    expect(masked(result)["volumes"]).toEqual(masked(old)["volumes"]);
    expect(templateOf(result).job["backoffLimit"]).toBe(MAX_INT32);
  });

  it("accepts the injected form with a change, as Kueue sends it", () => {
    const old = stored(injected(create(builder().suspended().build())));
    const sent = changed(old, [...POD_SPEC, "nodeSelector"], { zone: "x" });
    expect(createPatch(sent, injected(update(sent, old)))).toEqual([]);
  });

  it.each<[string, string]>([
    [ANNOTATION.inject, "false"],
    [ANNOTATION.failExitCodes, "42"],
    [ANNOTATION.nodeLossGrace, "5s"],
    [ANNOTATION.agentMemory, "not a quantity"],
    [ANNOTATION.replicatedJobs, "nobody"],
  ])("that sets %s changes nothing until the JobSet is recreated, with a warning", (key, value) => {
    const outcome = update(withCrdDefaults(builder().annotation(key, value).build()), live());
    expect(injected(outcome)["spec"]).toEqual(live()["spec"]);
    expect(warningTexts(outcome)).toEqual([
      expect.stringContaining(`metadata.annotations[${key}]: a running JobSet keeps`),
    ]);
  });

  it("never upgrades the agent, and undoes a change to it with a warning", () => {
    const sent = changed(live(), [...POD_SPEC, "initContainers", 0, "image"], "mine:1");
    const outcome = update(sent, live());
    expect(injected(outcome)["spec"]).toEqual(live()["spec"]);
    expect(outcome.warnings).toMatchObject([
      { rule: "agent-immutable", message: expect.stringContaining("your change was undone") },
    ]);
  });

  it("keeps label and record when a client drops them", () => {
    const sent = live();
    sent["metadata"] = { name: "train", namespace: "default" };
    const { labels, annotations } = Object(injected(update(sent, live()))["metadata"]);
    expect(labels).toEqual({ [LABEL.injected]: "true" });
    expect(annotations).toEqual(at(live(), "metadata", "annotations"));
  });

  it("lets a request for a restart pass, and changes nothing else", () => {
    const sent = changed(live(), ["metadata", "annotations", ANNOTATION.restartRequest], "loss is NaN");
    expect(update(sent, live())).toEqual({ kind: "injected", object: sent, warnings: [] });
  });

  it("keeps the spec of a JobSet whose record was lost", () => {
    const old = live();
    delete Object(at(old, "metadata", "annotations"))[ANNOTATION.status];
    expect(injected(update(withCrdDefaults(builder().build()), old))["spec"]).toEqual(old["spec"]);
  });

  it("warns about an overwritten field every time", () => {
    const own = () => jobSet().replicatedJob("workers", { pods: 1, job: { backoffLimitPerIndex: 0 } });
    const old = stored(injected(create(own().build())));
    expect(warningTexts(update(withCrdDefaults(own().build()), old))).toEqual([
      expect.stringContaining("backoffLimitPerIndex: 0 was replaced"),
    ]);
  });

  it("restores a finished JobSet as well, because GitOps tools apply it again too", () => {
    const old = changed(live(), ["status", "terminalState"], "Completed");
    expect(injected(update(withCrdDefaults(builder().build()), old))["spec"]).toEqual(old["spec"]);
  });

  it("leaves a JobSet that was created without injection alone", () => {
    const old = stored(builder().build());
    expect(update(builder().build(), old)).toEqual({
      kind: "skipped",
      reason: "created-without-injection",
      warnings: [],
    });
    expect(update(builder().annotation(ANNOTATION.inject, "true").build(), old).warnings).toMatchObject([
      { rule: "created-without-injection", message: expect.stringContaining("was created without injection") },
    ]);
  });

  it("does not change a JobSet that is being deleted", () => {
    const old = changed(live(), ["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z");
    expect(update(builder().build(), old)).toMatchObject({ reason: "being-deleted" });
  });
});
