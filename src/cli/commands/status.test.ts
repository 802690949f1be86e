import { describe, expect, it } from "vitest";
import { readInPlaceRestart } from "../../api/in-place-restart.ts";
import { readJobSet } from "../../api/jobset.ts";
import { readPod } from "../../api/pod.ts";
import { type GroupReading, type NodeState, reportGroup } from "../output/status-report.ts";
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
        cause: { reason: "ContainerExited", pod: "train-workers-0-1-x", container: "main", exitCode: 3 },
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
    conditions: [
      {
        type: "WaitingForTermination",
        status: "True",
        reason: "NodeUnreachable",
        message:
          "waiting for Pod train-workers-0-1-y to terminate: Terminating since 2026-01-01T12:00:00Z on node node-2, which is unreachable; it is left alone",
        lastTransitionTime: "2026-01-01T12:00:05.000Z",
      },
    ],
  },
});
const jobSet = readJobSet({
  metadata: { name: "train", namespace: "ml", uid: "j" },
  spec: { failurePolicy: { maxRestarts: 3 }, replicatedJobs: [] },
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
  return { object, jobSet, terminating: [pod], nodes: new Map([["node-2", node]]) };
}

function textOf(annotations: Record<string, string>, node: NodeState): string {
  return groupAsText(reportGroup(reading(annotations, node)), now);
}

describe("all about one group", () => {
  it("shows phase, epochs, budget, the wait with what can be done, restarts with their steps, and conditions", () => {
    expect(textOf({}, "unreachable")).toBe(`JobSet    ml/train
Phase     Restarting
Ready     1/2
Epoch     2 is over, waiting for 3
Restarts  2 of 3

Waiting
  waiting for Pod train-workers-0-1-y to terminate (Terminating since 45s on node node-2: unreachable)
    - if a second copy of it does no harm, let the controller forcefully delete it: kubectl annotate pod -n ml train-workers-0-1-y reprise.dev/safe-to-forcefully-delete=true
    - for the Pods of future JobSets, set the annotation on the JobSet; "reprise.dev/node-loss-grace" shortens the time until they are evicted
    - by hand, only when you know that node node-2 is off, because the Pod may still run there: kubectl delete pod -n ml train-workers-0-1-y --force --grace-period=0

Last restarts
  EPOCHS  SEEN     COUNTED  DEPRECATED  ALL RESTARTED  SYNCED  ALL RUNNING  CAUSE
  1 → 2   1h ago   yes      +0.0s       +1.9s          +1.9s   +3.0s        Pod train-workers-0-1-x: container main exited with code 3
  2 → ?   45s ago  no       +0.1s       -              -       -            Pod train-workers-0-1-y: was disrupted

Conditions
  TYPE                   STATUS  REASON           SINCE  MESSAGE
  WaitingForTermination  True    NodeUnreachable  40s    waiting for Pod train-workers-0-1-y to terminate: Terminating since 2026-01-01T12:00:00Z on node node-2, which is unreachable; it is left alone
`);
  });

  it("says that the controller acts when the Pod consents", () => {
    const text = textOf({ "kueue.x-k8s.io/safe-to-forcefully-delete": "true" }, "unreachable");
    expect(text).toContain("- wait: the controller forcefully deletes it once");
    expect(text).not.toContain("kubectl annotate");
  });

  it.each<[NodeState, string]>([
    ["reachable", "look at its finalizers"],
    ["gone", "Kubernetes collects Pods of nodes that do not exist"],
    ["unknown", "on node node-2: state unknown"],
  ])("knows what to do when its node is %s", (state, text) => {
    expect(textOf({}, state)).toContain(text);
  });

  it("shows a group that has just been created", () => {
    const { status: _, ...fresh } = object;
    const text = groupAsText(reportGroup({ object: fresh }), now);
    expect(text).toBe(`JobSet    ml/train\nPhase     Starting\nReady\nEpoch     none yet\nRestarts  0\n`);
  });
});

describe("a table of groups", () => {
  it("has a line for each, with what it waits for", () => {
    const report = reportGroup({ object, jobSet });
    expect(groupsAsText([report], true)).toBe(
      `NAMESPACE  NAME   PHASE       READY  EPOCH  RESTARTS  WAITING FOR
ml         train  Restarting  1/2    2      2/3       Pod train-workers-0-1-y to terminate: Terminating since 2026-01-01T12:00:00Z on node node-2, which is unreachable
`,
    );
    expect(groupsAsText([report], false)).not.toContain("NAMESPACE");
  });

  it("says so when there is none", () => {
    expect(groupsAsText([], false)).toBe("no JobSet restarts in place here\n");
  });
});
