import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readInPlaceRestart } from "../../api/in-place-restart.ts";
import { readJobSet } from "../../api/jobset.ts";
import { readPod } from "../../api/pod.ts";
import type { GroupReading, NodeState } from "../output/group-reading.ts";
import { reportGroup } from "../output/status-report.ts";
import { groupAsText, groupsAsText } from "../output/status-text.ts";

const now = Date.parse("2026-01-01T12:00:45Z");

const object = readInPlaceRestart({
  metadata: { name: "train", namespace: "ml", uid: "i", resourceVersion: "9" },
  spec: { jobSetUID: "j" },
  status: {
    deprecatedEpoch: 2,
    syncedEpoch: 2,
    restarts: 1,
    phase: "Restarting",
    ready: "1/2",
    history: [
      {
        cause: {
          reason: "ContainerExited",
          pod: "train-workers-0-0-x",
          container: "main",
          exitCode: 3,
          message: "RuntimeError: no device",
        },
        fromEpoch: 1,
        toEpoch: 2,
        counted: true,
        failureSeen: "2026-01-01T11:00:00.000Z",
        deprecated: "2026-01-01T11:00:00.000Z",
        allRestarted: "2026-01-01T11:00:01.900Z",
        synced: "2026-01-01T11:00:01.900Z",
        allRunning: "2026-01-01T11:00:03.000Z",
      },
      {
        cause: { reason: "Disruption", pod: "train-workers-0-1-y" },
        fromEpoch: 2,
        counted: false,
        failureSeen: "2026-01-01T12:00:00.000Z",
        deprecated: "2026-01-01T12:00:00.100Z",
      },
    ],
    availability: {
      state: "Restarting",
      since: "2026-01-01T12:00:00.000Z",
      spent: { Waiting: 12_000, Running: 10_800_000, Restarting: 9_000, Suspended: 600_000 },
      restarts: 3,
      lastEpoch: 2,
      causes: [
        { name: "ContainerExited", restarts: 2 },
        { name: "Disruption", restarts: 1 },
      ],
      blamedPods: [{ name: "train-workers-0-0-x", restarts: 3 }],
      blamedNodes: [
        { name: "node-1", restarts: 3 },
        { name: "node-2", restarts: 1 },
      ],
    },
    conditions: [
      {
        type: "WaitingForTermination",
        status: "True",
        reason: "NodeUnreachable",
        message:
          "waiting for Pod train-workers-0-1-y to terminate: Terminating since 2026-01-01T12:00:00Z on node node-2, " +
          "which is unreachable; it is left alone",
        lastTransitionTime: "2026-01-01T12:00:05.000Z",
      },
    ],
  },
});
const jobSet = readJobSet({
  metadata: {
    name: "train",
    namespace: "ml",
    uid: "j",
    annotations: { "reprise.dev/status": '{"budget":{"max":6,"from":"backoffLimit"}}' },
  },
  spec: { failurePolicy: { maxRestarts: 0 }, replicatedJobs: [] },
  status: { restartsCountTowardsMax: 1 },
});

function reading(annotations: Record<string, string>, node: NodeState): GroupReading {
  const pod = readPod({
    metadata: {
      name: "train-workers-0-1-y",
      namespace: "ml",
      annotations,
      deletionTimestamp: "2026-01-01T12:00:30Z",
      deletionGracePeriodSeconds: 30,
    },
    spec: { nodeName: "node-2" },
    status: { phase: "Running" },
  });
  const failed = readPod({
    metadata: { name: "train-workers-0-0-x", namespace: "ml", uid: "7f2c" },
    spec: { nodeName: "node-1" },
    status: { phase: "Running" },
  });
  const pods = [{ ...failed, shmLeftoverBytes: 48 * 2 ** 20 }, pod];
  return { object, jobSet, pods, nodes: new Map([["node-2", node]]) };
}

/** After an intended change: UPDATE_GOLDEN=1, and read the difference. */
function expectGolden(file: string, text: string): void {
  const path = new URL(`../../../test/golden/status/${file}`, import.meta.url);
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(path, text);
  expect(text).toBe(readFileSync(path, "utf8"));
}

function textOf(annotations: Record<string, string>, node: NodeState): string {
  return groupAsText(reportGroup(reading(annotations, node), now), now);
}

describe("reprise status of one JobSet", () => {
  it("shows phase, epochs, budget, awaited Pods with remedies, restarts, last words, leftovers and conditions", () => {
    expectGolden("group.txt", textOf({}, "unreachable"));
  });

  it("tells the user to wait if the Pod allows its forced deletion", () => {
    const text = textOf({ "kueue.x-k8s.io/safe-to-forcefully-delete": "true" }, "unreachable");
    expect(text).toContain("- wait: the controller forcefully deletes it when");
    expect(text).not.toContain("kubectl annotate");
  });

  it.each<[NodeState, string]>([
    ["reachable", "check its finalizers"],
    ["gone", "Kubernetes deletes Pods of nodes that no longer exist"],
    ["unknown", "on node node-2: state unknown"],
  ])("suggests a remedy for a node that is %s", (state, text) => {
    expect(textOf({}, state)).toContain(text);
  });

  it("shows a group without a status", () => {
    const { status: _, ...fresh } = object;
    const text = groupAsText(reportGroup({ object: fresh }, now), now);
    expect(text).toBe(`JobSet    ml/train\nPhase     Starting\nReady\nEpoch     none yet\nRestarts  0\n`);
  });
});

describe("reprise status of all JobSets", () => {
  it("prints one line each, with what it waits for", () => {
    const report = reportGroup({ object, jobSet }, now);
    expectGolden("groups.txt", groupsAsText([report], true));
    expect(groupsAsText([report], false)).not.toContain("NAMESPACE");
  });

  it("has the source of the budget and the last restart in the wide form", () => {
    expectGolden("groups-wide.txt", groupsAsText([reportGroup({ object, jobSet }, now)], false, { now }));
  });

  it("names a node that several groups blame", () => {
    const twoRestarts = [{ name: "node-9", restarts: 2 }];
    const reports = [1, 2].map((group) => {
      const { availability, ...report } = reportGroup({ object, jobSet }, now);
      if (availability === undefined) throw new Error("the group has no account");
      return { ...report, name: `train-${group}`, availability: { ...availability, blamedNodes: twoRestarts } };
    });
    expect(groupsAsText(reports, false)).toContain(
      "Nodes that cause failures again and again\n" +
        "  node-9, blamed for 4 restarts; to keep new Pods away from it: kubectl cordon node-9\n",
    );
    expect(groupsAsText(reports.slice(1), false)).not.toContain("node-9");
  });

  it("prints a message if there are none", () => {
    expect(groupsAsText([], false)).toBe("No JobSets that restart in place found\n");
  });
});
