import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJobSet } from "./jobset.ts";

describe("readJobSet", () => {
  it("reads the fields that decisions depend on", () => {
    const template = { spec: { parallelism: 4, completions: 4, template: {} } };
    const jobSet = readJobSet({
      metadata: {
        name: "train",
        namespace: "ml",
        uid: "u1",
        resourceVersion: "7",
        labels: { team: "a" },
        annotations: { "reprise.dev/inject": "true" },
      },
      spec: {
        suspend: true,
        managedBy: "other.example/controller",
        startupPolicy: { startupPolicyOrder: "InOrder" },
        failurePolicy: { maxRestarts: 3, restartStrategy: "InPlaceRestart" },
        replicatedJobs: [
          { name: "workers", replicas: 2, template },
          { name: "eval", dependsOn: [{ name: "workers", status: "Complete" }], template: {} },
        ],
      },
      status: {
        restarts: 2,
        restartsCountTowardsMax: 1,
        conditions: [{ type: "Failed", status: "True", reason: "ReachedMaxRestarts", message: "spent" }],
      },
    });
    expect(jobSet).toEqual({
      name: "train",
      namespace: "ml",
      uid: "u1",
      resourceVersion: "7",
      labels: { team: "a" },
      annotations: { "reprise.dev/inject": "true" },
      managedBy: "other.example/controller",
      suspended: true,
      startupOrder: "InOrder",
      failurePolicy: { maxRestarts: 3, restartStrategy: "InPlaceRestart" },
      replicatedJobs: [
        { name: "workers", replicas: 2, parallelism: 4, completions: 4, dependsOn: [], template },
        {
          name: "eval",
          replicas: 1,
          parallelism: 1,
          dependsOn: [{ name: "workers", status: "Complete" }],
          template: {},
        },
      ],
      conditions: [{ type: "Failed", status: "True", reason: "ReachedMaxRestarts", message: "spent" }],
      restarts: 2,
      restartsCountTowardsMax: 1,
      outcome: "Failed",
    });
  });

  it("reads null lists as empty", () => {
    const jobSet = readJobSet({ spec: { replicatedJobs: null }, status: { conditions: null } });
    expect(jobSet.replicatedJobs).toEqual([]);
    expect(jobSet.conditions).toEqual([]);
  });

  it("keeps a JobSet without a failure policy apart from one that allows no restart", () => {
    expect(readJobSet({ spec: { failurePolicy: null } }).failurePolicy).toBeUndefined();
    expect(readJobSet({ spec: { failurePolicy: {} } }).failurePolicy?.maxRestarts).toBe(0);
  });

  it("reads the rules of the failure policy with JobSet's defaults", () => {
    const written = { name: "leader", action: "FailJobSet", targetReplicatedJobs: ["leader"] };
    const failurePolicy = { rules: [written, { onJobFailureReasons: ["PodFailurePolicy"], action: "unknown" }] };
    expect(readJobSet({ spec: { failurePolicy } }).failurePolicy?.rules).toEqual([
      { ...written, onJobFailureReasons: [], onJobFailureMessagePatterns: [] },
      {
        name: "failurePolicyRule1",
        action: "RestartJobSet",
        targetReplicatedJobs: [],
        onJobFailureReasons: ["PodFailurePolicy"],
        onJobFailureMessagePatterns: [],
      },
    ]);
  });

  it.each([
    [{ operator: "Any" }, { operator: "Any", targetReplicatedJobs: [] }],
    [{ targetReplicatedJobs: ["driver"] }, { operator: "All", targetReplicatedJobs: ["driver"] }],
    [{ operator: "All", targetReplicatedJobs: null }, undefined],
    [null, undefined],
  ])("reads the success policy %j as %j", (successPolicy, expected) => {
    expect(readJobSet({ spec: { successPolicy } }).successPolicy).toEqual(expected);
  });

  it("keeps a replicatedJob of zero replicas at zero", () => {
    expect(readJobSet({ spec: { replicatedJobs: [{ name: "w", replicas: 0 }] } }).replicatedJobs[0]?.replicas).toBe(0);
  });

  it("reads a wrong-typed or negative count as its default", () => {
    const [job] = readJobSet({
      spec: { replicatedJobs: [{ name: 5, replicas: "2", template: { spec: { parallelism: -1, completions: 1.5 } } }] },
    }).replicatedJobs;
    expect(job).toMatchObject({ name: "", replicas: 1, parallelism: 1 });
    expect(job).not.toHaveProperty("completions");
  });

  it("never throws, whatever the object", () => {
    const anything = fc.jsonValue();
    const shaped = fc.record({
      metadata: anything,
      spec: fc.record({ replicatedJobs: fc.array(anything) }),
      status: anything,
    });
    fc.assert(
      fc.property(fc.oneof(anything, shaped), (raw) => {
        expect(() => readJobSet(raw)).not.toThrow();
      }),
    );
  });
});
