import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJob } from "./job.ts";
import { JOBSET } from "./names.ts";

describe("readJob", () => {
  it("reads owner, size and completed indexes", () => {
    const job = readJob({
      metadata: {
        name: "train-workers-1",
        namespace: "ml",
        uid: "o1",
        resourceVersion: "3",
        labels: { [JOBSET.replicatedJobKey]: "workers", [JOBSET.jobIndexKey]: "1" },
        ownerReferences: [{ kind: "JobSet", name: "train", uid: "j1", controller: true }],
      },
      spec: { parallelism: 4, completions: 4, suspend: false, activeDeadlineSeconds: 60 },
      status: { completedIndexes: "0,2-3", succeeded: 3, ready: 1, conditions: [] },
    });
    expect(job).toEqual({
      name: "train-workers-1",
      namespace: "ml",
      uid: "o1",
      resourceVersion: "3",
      controller: { kind: "JobSet", name: "train", uid: "j1" },
      replicatedJob: "workers",
      jobIndex: 1,
      suspended: false,
      activeDeadlineSeconds: 60,
      parallelism: 4,
      completions: 4,
      completedIndexes: [
        { first: 0, last: 0 },
        { first: 2, last: 3 },
      ],
      succeeded: 3,
      ready: 1,
      outcome: "none",
    });
  });

  it("ignores an invalid part of completedIndexes", () => {
    const { completedIndexes } = readJob({ status: { completedIndexes: "1,x,5-3,-2,7-8," } });
    expect(completedIndexes).toEqual([
      { first: 1, last: 1 },
      { first: 7, last: 8 },
    ]);
  });

  it.each([
    ["Complete", "Complete"],
    ["Failed", "Failed"],
    ["SuccessCriteriaMet", "none"],
    ["FailureTarget", "none"],
  ])("with condition %s its outcome is %s", (type, outcome) => {
    expect(readJob({ status: { conditions: [{ type, status: "True" }] } }).outcome).toBe(outcome);
  });

  it("never throws, whatever the object", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (anything, text) => {
        expect(() => readJob(anything)).not.toThrow();
        expect(() =>
          readJob({ spec: anything, status: { completedIndexes: text, conditions: anything } }),
        ).not.toThrow();
      }),
    );
  });
});
