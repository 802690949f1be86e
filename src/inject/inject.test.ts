import { describe, expect, it } from "vitest";
import { at, create, injected, injectionErrors, settings, templateOf } from "../../test/builders/injection.ts";
import { container, jobSet } from "../../test/builders/jobset.ts";
import { ANNOTATION, LABEL } from "../api/names.ts";
import { VERSION } from "../api/version.ts";
import type { JsonObject } from "../json/types.ts";
import { inject } from "./inject.ts";

describe("which JobSets are injected", () => {
  it.each<[string, JsonObject, string]>([
    ["another kind", { apiVersion: "batch/v1", kind: "Job" }, "not-a-jobset"],
    ["another group's JobSet", { apiVersion: "example.com/v1", kind: "JobSet" }, "not-a-jobset"],
    ["an empty object", {}, "not-a-jobset"],
    [
      "one that says no",
      jobSet().annotation(ANNOTATION.inject, "false").replicatedJob("a").build(),
      "disabled-by-annotation",
    ],
    [
      "one that another controller manages",
      jobSet().spec({ managedBy: "example.com/controller" }).replicatedJob("a").build(),
      "managed-by-other",
    ],
    ["one without replicatedJobs", jobSet().build(), "no-replicated-jobs"],
    ["one with null replicatedJobs", jobSet().spec({}).build(), "no-replicated-jobs"],
    [
      "one that is being deleted",
      jobSet().metadata({ deletionTimestamp: "2026-01-01T00:00:00Z" }).replicatedJob("a").build(),
      "being-deleted",
    ],
  ])("does not inject %s", (_case, object, reason) => {
    expect(create(object)).toMatchObject({ kind: "skipped", reason, warnings: [] });
  });

  it("injects a JobSet that is managed by JobSet's own controller", () => {
    const object = jobSet().spec({ managedBy: "jobset.sigs.k8s.io/jobset-controller" }).replicatedJob("a");
    expect(create(object.build()).kind).toBe("injected");
  });

  it("injects no JobSet in a system namespace", () => {
    const object = jobSet().replicatedJob("a").build();
    const outcome = inject({ operation: "CREATE", namespace: "kube-system", object, config: settings });
    expect(outcome).toMatchObject({ kind: "skipped", reason: "namespace-not-enabled" });
  });

  it("injects only JobSets that request it if injection.default is disabled", () => {
    const config = { ...settings, default: "disabled" } as const;
    expect(create(jobSet().replicatedJob("a").build(), config)).toMatchObject({ reason: "not-requested" });
    expect(create(jobSet().annotation(ANNOTATION.inject, "true").replicatedJob("a").build(), config).kind).toBe(
      "injected",
    );
  });

  it.each(["yes", "True", "", "1"])("rejects the value %j of reprise.dev/inject", (value) => {
    const errors = injectionErrors(create(jobSet().annotation(ANNOTATION.inject, value).replicatedJob("a").build()));
    expect(errors[0]).toMatchObject({ rule: "toggle", path: "metadata.annotations[reprise.dev/inject]" });
  });
});

describe("participation", () => {
  const builder = () =>
    jobSet()
      .replicatedJob("driver", { containers: [container("driver")] })
      .replicatedJob("workers", { containers: [container("train"), container("log")] });

  it("does not change replicatedJobs that are not listed", () => {
    const object = builder().annotation(ANNOTATION.replicatedJobs, " workers ").build();
    const result = injected(create(object));
    expect(at(result, "spec", "replicatedJobs", 0)).toBe(at(object, "spec", "replicatedJobs", 0));
    expect(templateOf(result, 1).podSpec["initContainers"]).toHaveLength(1);
  });

  it("adds rules to the listed worker containers only", () => {
    const object = builder()
      .annotation(ANNOTATION.replicatedJobs, "workers")
      .annotation(ANNOTATION.workerContainers, "train");
    const result = templateOf(injected(create(object.build())), 1);
    expect(result.containers.map((each) => "restartPolicyRules" in each)).toEqual([true, false]);
  });

  it.each([
    [ANNOTATION.replicatedJobs, "worker", 'is not a replicatedJob of this JobSet; did you mean "workers"?'],
    [ANNOTATION.replicatedJobs, "evaluator-zone-b", "use one of: driver, workers"],
    [ANNOTATION.replicatedJobs, ",", "names no replicatedJob"],
    [ANNOTATION.workerContainers, "trian,driver", 'is not a container of this JobSet; did you mean "train"?'],
  ])("rejects %s: %j", (key, value, text) => {
    const errors = injectionErrors(create(builder().annotation(key, value).build()));
    expect(errors.map((error) => error.message)).toContainEqual(expect.stringContaining(text));
    expect(errors.every((error) => error.rule === "participation")).toBe(true);
  });

  it("rejects a replicatedJob without a worker", () => {
    const errors = injectionErrors(create(builder().annotation(ANNOTATION.workerContainers, "train").build()));
    expect(errors).toEqual([
      expect.objectContaining({
        path: "spec.replicatedJobs[0]",
        message: expect.stringContaining("add one of driver"),
      }),
    ]);
  });

  it("must include all replicatedJobs with JobSet's own protocol, whose controller waits for every Pod", () => {
    const object = builder()
      .annotation(ANNOTATION.replicatedJobs, "workers")
      .spec({ failurePolicy: { restartStrategy: "InPlaceRestart" } });
    expect(injectionErrors(create(object.build()))).toEqual([
      expect.objectContaining({ message: expect.stringContaining("leaves out 1 replicatedJobs") }),
    ]);
  });

  it("leaves a replicatedJob without containers to the API server", () => {
    const outcome = create(jobSet().replicatedJob("workers", { containers: [] }).build());
    expect(outcome).toMatchObject({ kind: "skipped", reason: "all-left-out" });
    expect(outcome.warnings).toEqual([expect.objectContaining({ rule: "malformed", path: "spec.replicatedJobs[0]" })]);
  });
});

describe("the record", () => {
  it("contains version, additions, budget and inputs, and nothing that changes from run to run", () => {
    const object = jobSet().annotation(ANNOTATION.failExitCodes, "42").replicatedJob("workers").build();
    const { labels, annotations } = Object(injected(create(object))["metadata"]);
    expect(labels).toEqual({ [LABEL.injected]: "true" });
    expect(annotations[ANNOTATION.status]).toBe(
      `{"version":"${VERSION}","protocol":"epoch","agentImage":"registry.example/reprise:test",` +
        '"added":{"initContainer":"reprise-agent","volume":"reprise-agent-token","imagePullSecrets":[]},' +
        '"replicatedJobs":1,"budget":{"max":6,"from":"backoffLimit"},"inputs":{"reprise.dev/fail-exit-codes":"42"}}',
    );
  });

  it("does not grow with the number of replicatedJobs", () => {
    const builder = jobSet();
    for (let index = 0; index < 500; index++) builder.replicatedJob(`rj-${index}`, { pods: 1 });
    const result = injected(create(builder.build()));
    expect(String(at(result, "metadata", "annotations", ANNOTATION.status)).length).toBeLessThan(300);
  });
});
