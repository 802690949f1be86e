import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JOBSET, KUEUE } from "./names.ts";
import { readPod } from "./pod.ts";

function podWithEpoch(epoch: unknown) {
  return { metadata: { name: "p", annotations: { [JOBSET.epochAnnotation]: epoch } } };
}

describe("readPod", () => {
  it("reads identity, owner, place, epoch and the runs of its containers", () => {
    const pod = readPod({
      metadata: {
        name: "train-workers-0-1-abcde",
        namespace: "ml",
        uid: "p1",
        resourceVersion: "12",
        labels: {
          [JOBSET.nameKey]: "train",
          [JOBSET.uidKey]: "j1",
          [JOBSET.replicatedJobKey]: "workers",
          [JOBSET.jobIndexKey]: "0",
          "batch.kubernetes.io/job-completion-index": "1",
          "reprise.dev/injected": "true",
        },
        annotations: { [JOBSET.epochAnnotation]: "4" },
        ownerReferences: [
          { kind: "Other", name: "x", uid: "o0" },
          { kind: "Job", name: "train-workers-0", uid: "o1", controller: true },
        ],
        deletionTimestamp: "2026-01-01T00:00:30Z",
        deletionGracePeriodSeconds: 30,
      },
      spec: { nodeName: "node-1" },
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: "False" }],
        initContainerStatuses: [
          {
            name: "reprise-agent",
            containerID: "containerd://a",
            restartCount: 2,
            started: true,
            ready: true,
            state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
          },
        ],
        containerStatuses: [
          {
            name: "main",
            restartCount: 2,
            state: { terminated: { exitCode: 3, reason: "Error", containerID: "containerd://m" } },
          },
          { name: "log", state: { waiting: { reason: "RestartingAllContainers" } } },
        ],
      },
    });
    expect(pod).toEqual({
      name: "train-workers-0-1-abcde",
      namespace: "ml",
      uid: "p1",
      resourceVersion: "12",
      controller: { kind: "Job", name: "train-workers-0", uid: "o1" },
      jobSetName: "train",
      jobSetUid: "j1",
      replicatedJob: "workers",
      jobIndex: 0,
      completionIndex: 1,
      injected: true,
      safeToForcefullyDelete: false,
      epoch: { kind: "present", epoch: 4 },
      phase: "Running",
      reason: "",
      deletion: { timestamp: "2026-01-01T00:00:30Z", graceSeconds: 30 },
      node: "node-1",
      awaitsAddress: true,
      conditions: [{ type: "Ready", status: "False", reason: "", message: "" }],
      containers: [
        {
          name: "reprise-agent",
          init: true,
          containerID: "containerd://a",
          restartCount: 2,
          started: true,
          ready: true,
          state: { kind: "running", startedAt: "2026-01-01T00:00:00Z" },
        },
        {
          name: "main",
          init: false,
          containerID: "containerd://m",
          restartCount: 2,
          started: false,
          ready: false,
          state: { kind: "terminated", exitCode: 3, reason: "Error" },
        },
        {
          name: "log",
          init: false,
          restartCount: 0,
          started: false,
          ready: false,
          state: { kind: "waiting", reason: "RestartingAllContainers" },
        },
      ],
    });
  });

  it.each(["0", "1", "2147483647"])("takes epoch %s as written", (text) => {
    expect(readPod(podWithEpoch(text)).epoch).toEqual({ kind: "present", epoch: Number(text) });
  });

  it.each(["", "-1", "01", " 1", "1.0", "1e3", "0x1", "2147483648", "99999999999", "four"])(
    "reports %j as a malformed epoch, with its text",
    (text) => {
      expect(readPod(podWithEpoch(text)).epoch).toEqual({ kind: "malformed", text });
    },
  );

  it.each([undefined, null])("takes epoch %s for absent", (epoch) => {
    expect(readPod(podWithEpoch(epoch)).epoch).toEqual({ kind: "absent" });
  });

  it("takes null lists of a Pod that was just created for empty ones", () => {
    const pod = readPod({ metadata: { ownerReferences: null }, status: { conditions: null, containerStatuses: null } });
    expect(pod).toMatchObject({ phase: "Unknown", conditions: [], containers: [], epoch: { kind: "absent" } });
    expect(pod).not.toHaveProperty("node");
    expect(pod).not.toHaveProperty("deletion");
  });

  it.each([
    [{}, {}, false],
    [{ nodeName: "" }, {}, false],
    [{ nodeName: "node-1" }, {}, true],
    [{ nodeName: "node-1" }, { podIP: "" }, true],
    [{ nodeName: "node-1" }, { podIP: "10.1.0.9" }, false],
  ])("takes a Pod with spec %j and status %j for one without its address: %s", (spec, status, awaitsAddress) => {
    expect(readPod({ spec, status }).awaitsAddress).toBe(awaitsAddress);
  });

  it("never takes a termination without an exit code for a success", () => {
    const pod = readPod({ status: { containerStatuses: [{ name: "main", state: { terminated: {} } }] } });
    expect(pod.containers[0]?.state).toMatchObject({ kind: "terminated", exitCode: 137 });
  });

  it("keeps of a termination when it began and ended, and the last words of the container", () => {
    const times = { startedAt: "2026-01-01T00:00:00Z", finishedAt: "2026-01-01T00:00:09Z" };
    const terminated = { exitCode: 1, reason: "Error", ...times, message: `${"x\n".repeat(2_000)}no device\n` };
    const { state } =
      readPod({ status: { containerStatuses: [{ name: "main", state: { terminated } }] } }).containers[0] ?? {};
    expect(state).toMatchObject({
      kind: "terminated",
      ...times,
      message: expect.stringMatching(/^\.\.\.[x ]+no device$/),
    });
  });

  it("ignores owners that do not control the Pod", () => {
    expect(
      readPod({ metadata: { ownerReferences: [{ kind: "Job", name: "a", uid: "u" }] } }).controller,
    ).toBeUndefined();
  });

  it.each([
    ["reprise.dev/safe-to-forcefully-delete", "true", true],
    [KUEUE.safeToForcefullyDelete, "true", true],
    [KUEUE.safeToForcefullyTerminate, "true", true],
    ["reprise.dev/safe-to-forcefully-delete", "yes", false],
  ])("with %s: %s may be force-deleted: %s", (key, value, allowed) => {
    expect(readPod({ metadata: { annotations: { [key]: value } } }).safeToForcefullyDelete).toBe(allowed);
  });

  it.each([
    ["0", 0],
    ["68719476736", 68_719_476_736],
    ["999999999999999", 999_999_999_999_999],
    ["1000000000000000", undefined],
    ["-1", undefined],
    ["1e9", undefined],
    ["", undefined],
  ])("reads %j left in shared memory as %s bytes", (text, bytes) => {
    const pod = readPod({ metadata: { annotations: { "reprise.dev/shm-leftover-bytes": text } } });
    expect(pod.shmLeftoverBytes).toBe(bytes);
  });

  it("never throws, whatever the object", () => {
    const anything = fc.jsonValue();
    const shaped = fc.record({
      metadata: fc.record({ ownerReferences: fc.array(anything), annotations: anything, labels: anything }),
      status: fc.record({
        containerStatuses: fc.array(fc.record({ state: anything })),
        conditions: fc.array(anything),
      }),
    });
    fc.assert(
      fc.property(fc.oneof(anything, shaped), (raw) => {
        expect(() => readPod(raw)).not.toThrow();
      }),
    );
  });
});
