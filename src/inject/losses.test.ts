import { describe, expect, it } from "vitest";
import { create, injected, settings } from "../../test/builders/injection.ts";
import { container, type JobSetBuilder, jobSet, type ReplicatedJobParts } from "../../test/builders/jobset.ts";
import type { Finding } from "../api/admission.ts";
import { ANNOTATION } from "../api/names.ts";
import type { JsonObject } from "../json/types.ts";
import { inject } from "./inject.ts";

const JOB = (index: number) => `spec.replicatedJobs[${index}].template.spec`;

function found(rule: string, object: JsonObject, limit?: string): readonly Finding[] {
  const namespaces = () => ({ kind: "known", text: limit }) as const;
  const { warnings } = inject({ operation: "CREATE", namespace: "team", object, config: settings, namespaces });
  return warnings.filter((warning) => warning.rule === rule);
}

describe("retries that a group does not have", () => {
  const headAndWorker = (worker: JsonObject, spec: JsonObject = {}): JobSetBuilder =>
    jobSet()
      .spec(spec)
      .replicatedJob("head", { job: { backoffLimit: 0 } })
      .replicatedJob("worker", { job: worker });

  it("are reported for a Job whose limit is above the smallest one", () => {
    const object = headAndWorker({ backoffLimit: 4 }, { failurePolicy: { maxRestarts: 1 } }).build();
    expect(found("retries", object)).toEqual([
      {
        rule: "retries",
        path: `${JOB(1)}.backoffLimit`,
        message:
          "without reprise this Job survives 9 failures, and the group has 1 restart (from " +
          "failurePolicy.maxRestarts); set reprise.dev/max-restarts on the JobSet for more",
      },
    ]);
  });

  it("are reported for Kubernetes' default, and for the limit of each index", () => {
    expect(found("retries", headAndWorker({}).build())).toHaveLength(1);
    expect(found("retries", headAndWorker({ backoffLimitPerIndex: 4 }).build())).toHaveLength(1);
    expect(found("retries", headAndWorker({ backoffLimitPerIndex: 3 }).build())).toEqual([]);
  });

  it("are reported once for all Jobs", () => {
    const object = headAndWorker({ backoffLimit: 4 }).replicatedJob("other", { job: { backoffLimit: 5 } });
    expect(found("retries", object.build())).toMatchObject([{ message: expect.stringMatching(/ \(and 1 more\)$/) }]);
  });

  it("are reported where the Namespace allows fewer than the plain JobSet survives", () => {
    const object = jobSet().replicatedJob("workers", { pods: 2 }).build();
    expect(found("retries", object, "2")).toMatchObject([
      { message: expect.stringMatching(/survives 6 failures, and the group has 2 restarts \(.+ of the Namespace\)/) },
    ]);
    expect(found("retries", object, "6")).toEqual([]);
  });

  it.each([
    ["the limits are equal", jobSet().replicatedJob("a", { pods: 2 }).replicatedJob("b", { pods: 2 })],
    ["the budget is larger than every limit", headAndWorker({ backoffLimit: 3 })],
    [
      "the Job with more retries has no replicas",
      jobSet()
        .replicatedJob("head", { job: { backoffLimit: 0 } })
        .replicatedJob("idle", { replicas: 0 }),
    ],
    ["the user chose the number", headAndWorker({ backoffLimit: 4 }).annotation(ANNOTATION.maxRestarts, "1")],
    [
      "JobSet counts the restarts itself",
      headAndWorker({ backoffLimit: 4 }, { failurePolicy: { maxRestarts: 0, restartStrategy: "InPlaceRestart" } }),
    ],
  ])("are not reported if %s", (_what, builder) => {
    expect(found("retries", builder.build())).toEqual([]);
  });

  it("are not reported again by a second call of the webhook, or beside the warning about a budget of 0", () => {
    expect(found("retries", injected(create(headAndWorker({ backoffLimit: 4 }).build())))).toEqual([]);
    expect(found("retries", headAndWorker({ backoffLimit: 4 }).build(), "0")).toEqual([]);
  });
});

describe("retries of initContainers and of containers that are no workers", () => {
  it("have no limit, which is reported", () => {
    const object = jobSet()
      .spec({ failurePolicy: { maxRestarts: 1 } })
      .annotation(ANNOTATION.workerContainers, "train")
      .replicatedJob("workers", {
        job: { backoffLimit: 2 },
        initContainers: [container("fetch")],
        containers: [container("train"), container("log")],
      });
    expect(found("endless-retries", object.build())).toEqual([
      {
        rule: "endless-retries",
        path: `${JOB(0)}.template.spec.initContainers[0]`,
        message:
          "is retried without a limit; without reprise more than 5 failures fail the JobSet; " +
          "bound the retries in its command, or set its restartPolicy to Never (and 1 more)",
      },
    ]);
  });

  it.each<[string, ReplicatedJobParts]>([
    ["the Pod says Never", { pod: { restartPolicy: "Never" }, initContainers: [container("fetch")] }],
    ["a sidecar says Always", { initContainers: [container("proxy", { restartPolicy: "Always" })] }],
    ["the container says Never", { initContainers: [container("fetch", { restartPolicy: "Never" })] }],
    ["there are only workers", {}],
  ])("are as before where %s", (_what, parts) => {
    expect(found("endless-retries", jobSet().replicatedJob("workers", parts).build())).toEqual([]);
  });
});

describe("a deadline that now spans all attempts", () => {
  const deadline = { activeDeadlineSeconds: 60 };
  const RECREATED = { failurePolicy: { maxRestarts: 1 } };
  const EXEMPT = { failurePolicy: { maxRestarts: 0, rules: [{ action: "RestartJobSetAndIgnoreMaxRestarts" }] } };
  const NEVER = { restartPolicy: "Never" };

  it.each<[string, JsonObject, JsonObject, JsonObject, string]>([
    ["a Job that JobSet recreates", RECREATED, deadline, {}, JOB(0)],
    ["a Job that JobSet recreates beyond maxRestarts", EXEMPT, deadline, {}, JOB(0)],
    ["a Pod whose Job JobSet recreates", RECREATED, {}, deadline, `${JOB(0)}.template.spec`],
    ["a Pod that its Job replaces", {}, {}, { ...NEVER, ...deadline }, `${JOB(0)}.template.spec`],
  ])("is reported for %s", (_what, spec, job, pod, path) => {
    const object = jobSet().spec(spec).replicatedJob("workers", { pods: 2, job, pod }).build();
    expect(found("active-deadline", object)).toEqual([
      {
        rule: "active-deadline",
        path: `${path}.activeDeadlineSeconds`,
        message: "the 60 s now span all restarts in place, not one attempt; raise it if attempts take long",
      },
    ]);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["a Job that spans its retries without reprise too", deadline, {}],
    ["a Pod that the kubelet restarts as it is", {}, deadline],
    ["a Pod that nothing replaces", { backoffLimit: 0 }, { ...NEVER, ...deadline }],
  ])("is not reported for %s", (_what, job, pod) => {
    expect(found("active-deadline", jobSet().replicatedJob("workers", { pods: 2, job, pod }).build())).toEqual([]);
  });

  it("is reported once for many Jobs", () => {
    const parts = { pods: 2, job: deadline };
    const object = jobSet().spec(RECREATED).replicatedJob("a", parts).replicatedJob("b", parts).build();
    expect(found("active-deadline", object)).toMatchObject([{ message: expect.stringMatching(/ \(and 1 more\)$/) }]);
  });
});
