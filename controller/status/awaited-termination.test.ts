import { describe, expect, it } from "vitest";
import type { Surroundings } from "../stuck-pods/surroundings.ts";
import { runningScene, type Scene } from "../testing/scene.ts";

const [A, B] = ["workers-0/0", "workers-0/1"];

/** Requested at 12:00:00. */
const DELETION = { timestamp: "2026-01-01T12:00:30Z", graceSeconds: 30 };
const at = (time: string) => Date.parse(`2026-01-01T${time}Z`);

const lost: Surroundings = {
  settings: { enabled: true, threshold: 60_000, brake: 0.55 },
  unreachable: new Map([["node-2", { since: "2026-01-01T11:59:00Z" }]]),
  braked: false,
  settledAt: 0,
  optedIn: new Set(["ml"]),
};

/** One Pod terminates on node-2; the other waits at the barrier. */
function waiting(surroundings: Surroundings, consent: boolean): Scene {
  const scene = runningScene({}, surroundings);
  scene.now = at("12:00:05");
  scene.pod(B, { deletion: DELETION, node: "node-2", safeToForcefullyDelete: consent }).settle();
  scene.at(2, A).settle();
  // The ready count was written in the meantime.
  scene.now = at("12:00:20");
  return scene.settle();
}

function condition(scene: Scene) {
  return scene.status.conditions.find(({ type }) => type === "WaitingForTermination");
}

describe("a group that waits for a Pod to terminate", () => {
  it("names the unreachable node and the time at which the Pod is forcefully deleted", () => {
    expect(condition(waiting(lost, true))).toMatchObject({
      status: "True",
      reason: "NodeUnreachable",
      message: [
        `waiting for Pod ${B} to terminate: Terminating since 2026-01-01T12:00:00Z on node node-2, `,
        "which is unreachable since 2026-01-01T11:59:00Z; ",
        "it is forcefully deleted at 2026-01-01T12:01:30Z unless its node comes back",
      ].join(""),
    });
  });

  it("says how to allow the deletion if the Pod is not annotated", () => {
    expect(condition(waiting(lost, false))?.message).toContain(
      `kubectl annotate pod -n ml ${B} reprise.dev/safe-to-forcefully-delete=true`,
    );
  });

  it.each<[string, Partial<Surroundings>, string]>([
    ["the brake is on", { braked: true }, "stuckPods.brake"],
    ["the feature is disabled", { settings: { ...lost.settings, enabled: false } }, "stuckPods.enabled is false"],
    ["its namespace has no label", { optedIn: new Set() }, "reprise.dev/injection=enabled"],
  ])("says why the Pod is not deleted when %s", (_, change, text) => {
    expect(condition(waiting({ ...lost, ...change }, true))?.message).toContain(text);
  });

  it("writes nothing while it waits", () => {
    const scene = waiting(lost, true);
    for (const time of ["12:00:30", "12:00:50", "12:01:29", "12:01:31", "12:05:00"]) {
      scene.now = at(time);
      const { decision } = scene.verdict();
      // After a minute the barrier counts as stalled, which is reported once.
      if (decision !== undefined) expect(decision).toMatchObject({ notices: [{ reason: "BarrierStalled" }] });
      scene.settle();
      expect(scene.verdict().decision).toBeUndefined();
    }
  });

  it("reports nothing on a healthy node until the kubelet is late, and asks to be woken then", () => {
    const scene = waiting({ ...lost, unreachable: new Map() }, true);
    expect(condition(scene)).toBeUndefined();
    expect(scene.verdict().wakeAt).toBe(at("12:00:40"));
    scene.now = at("12:00:40");
    expect(condition(scene.settle())).toMatchObject({ status: "True", reason: "GracePeriodOver" });
  });

  it("names the Pod that is overdue longest, and says that there are more", () => {
    const scene = waiting(lost, true);
    const later = { timestamp: "2026-01-01T12:00:31Z", graceSeconds: 30 };
    scene.pod(A, { deletion: later, node: "node-2" }).later().settle();
    expect(condition(scene)?.message).toMatch(new RegExp(`^waiting for Pod ${B} .*; so do other Pods$`));
  });

  it("clears the condition when the Pod is gone", () => {
    const scene = waiting(lost, true).forgetPod(B).later().settle();
    expect(condition(scene)).toMatchObject({ status: "False", reason: "Terminated", message: "" });
  });
});
