import { describe, expect, it } from "vitest";
import { isBraked } from "./brake.ts";
import { type JudgedPod, judgeStuckPod } from "./decide.ts";
import type { Surroundings } from "./surroundings.ts";

/** Its grace period ended at 12:00:30. */
const stuck: JudgedPod = {
  namespace: "ml",
  node: "node-2",
  phase: "Running",
  deletion: { timestamp: "2026-01-01T12:00:30Z", graceSeconds: 30 },
  conditions: [],
  safeToForcefullyDelete: true,
};
const around: Surroundings = {
  settings: { enabled: true, threshold: 60_000, brake: 0.55 },
  unreachable: new Map([["node-2", { since: "2026-01-01T11:59:00Z" }]]),
  braked: false,
  settledAt: 0,
  optedIn: new Set(["ml"]),
};
const mark = { type: "RepriseFailureRecovery", status: "True", reason: "ForcefullyDeleted", message: "" } as const;
const due = Date.parse("2026-01-01T12:01:30Z");

describe("a Pod on an unreachable node", () => {
  it("is freed when the threshold has passed since deletionTimestamp, the end of its grace period", () => {
    expect(judgeStuckPod(stuck, around, due - 1)).toEqual({ kind: "wait", until: due });
    expect(judgeStuckPod(stuck, around, due)).toEqual({ kind: "free", marked: false, since: due });
  });

  it.each(["Running", "Pending"] as const)("is freed in phase %s", (phase) => {
    expect(judgeStuckPod({ ...stuck, phase }, around, due).kind).toBe("free");
  });

  it("that was terminating before its node was lost waits for the threshold from then on", () => {
    const unreachable = new Map([["node-2", { since: "2026-01-01T12:10:00Z" }]]);
    const until = Date.parse("2026-01-01T12:11:00Z");
    expect(judgeStuckPod(stuck, { ...around, unreachable }, due)).toEqual({ kind: "wait", until });
  });

  it("waits from the end of its grace period if the time of the node's loss is unknown", () => {
    const unreachable = new Map([["node-2", {}]]);
    expect(judgeStuckPod(stuck, { ...around, unreachable }, due).kind).toBe("free");
  });

  it("waits for the threshold after the brake ended, because other nodes may be about to come back", () => {
    expect(judgeStuckPod(stuck, { ...around, settledAt: due }, due)).toEqual({ kind: "wait", until: due + 60_000 });
  });

  it("is deleted by the next controller if one marked it and was killed before the deletion", () => {
    const marked: JudgedPod = { ...stuck, phase: "Failed", conditions: [mark] };
    expect(judgeStuckPod(marked, around, due)).toEqual({ kind: "free", marked: true, since: due });
  });

  const { deletion: _, ...living } = stuck;
  const { node: __, ...unscheduled } = stuck;
  it.each<[string, JudgedPod, Partial<Surroundings>, string]>([
    ["is not being deleted", living, {}, "NotTerminating"],
    ["is in a namespace without the label", { ...stuck, namespace: "other" }, {}, "NamespaceNotOptedIn"],
    ["has failed on its own", { ...stuck, phase: "Failed" }, {}, "NotRunning"],
    ["has succeeded", { ...stuck, phase: "Succeeded" }, {}, "NotRunning"],
    ["has an unknown phase", { ...stuck, phase: "Unknown" }, {}, "NotRunning"],
    ["has no annotation", { ...stuck, safeToForcefullyDelete: false }, {}, "NoConsent"],
    ["has no node", unscheduled, {}, "NodeNotUnreachable"],
    ["has its node back", stuck, { unreachable: new Map() }, "NodeNotUnreachable"],
    ["is on another node than the lost one", { ...stuck, node: "node-1" }, {}, "NodeNotUnreachable"],
    ["is on one of too many unreachable nodes", stuck, { braked: true }, "Braked"],
    [
      "is in a cluster where freeing is disabled",
      stuck,
      { settings: { ...around.settings, enabled: false } },
      "Disabled",
    ],
    [
      "was freed before, and has a finalizer",
      {
        ...stuck,
        phase: "Failed",
        conditions: [mark],
        deletion: { timestamp: "2026-01-01T12:00:00Z", graceSeconds: 0 },
      },
      {},
      "AlreadyFreed",
    ],
    [
      "was marked, and has its node back",
      { ...stuck, phase: "Failed", conditions: [mark] },
      { unreachable: new Map() },
      "NodeNotUnreachable",
    ],
  ])("is left alone forever if it %s", (_what, pod, change, reason) => {
    expect(judgeStuckPod(pod, { ...around, ...change }, due + 1e9)).toEqual({ kind: "leave", reason });
  });
});

describe("the brake", () => {
  it.each([
    [0, 0],
    [0, 10],
    [1, 2],
    [2, 3],
    [5, 10],
    [54, 100],
  ])("is off for %i unreachable nodes of %i", (unreachable, nodes) => {
    expect(isBraked(unreachable, nodes, 0.55)).toBe(false);
  });

  it.each([
    [1, 1],
    [2, 2],
    [3, 5],
    [6, 10],
    [55, 100],
  ])("is on for %i unreachable nodes of %i", (unreachable, nodes) => {
    expect(isBraked(unreachable, nodes, 0.55)).toBe(true);
  });
});
