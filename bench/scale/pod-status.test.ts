import { expect, it } from "vitest";
import { findFailure } from "../../controller/group/pod-failure.ts";
import { readPod } from "../../src/api/pod.ts";
import type { PodShape } from "./pod-shape.ts";
import { type Stage, statusPatch } from "./pod-status.ts";

const shape: PodShape = {
  name: "train-0",
  namespace: "team",
  uid: "u",
  jobSet: "train",
  serviceAccount: "default",
  agent: "reprise-agent",
  agentEnv: {},
  hasStartupProbe: true,
  workers: ["trainer"],
};

function reported(stage: Stage, restarts = 1) {
  const began = new Date("2026-01-01T00:00:00Z");
  const run = { address: "10.203.0.1", restarts, agentStarted: began, workersStarted: began };
  return readPod(statusPatch(shape, stage, run, new Date("2026-01-01T00:00:09Z")));
}

const exits = { trainer: { alone: [], recreate: [], fail: [], ignored: [] } };

it("the controller reads a failure from the exit of a worker, and from nothing else", () => {
  const failure = (stage: Stage) => findFailure(reported(stage), { exits, jobEnds: false });
  expect(failure({ kind: "exited", container: "trainer", exitCode: 1 })?.cause).toMatchObject({
    reason: "ContainerExited",
    container: "trainer",
    exitCode: 1,
  });
  for (const kind of ["removed", "held", "running"] as const) expect(failure({ kind })).toBeUndefined();
});

it("every run has container IDs of its own, and keeps them until it ends", () => {
  const worker = (stage: Stage, restarts: number) => reported(stage, restarts).containers[1]?.containerID;
  expect(worker({ kind: "running" }, 1)).toBe(worker({ kind: "exited", container: "reprise-agent", exitCode: 88 }, 1));
  expect(worker({ kind: "running" }, 1)).not.toBe(worker({ kind: "running" }, 2));
  expect(worker({ kind: "removed" }, 2)).toBeUndefined();
});

it("a Pod at the barrier is pending, with a running agent that has not started", () => {
  const { phase, containers } = reported({ kind: "held" });
  expect(phase).toBe("Pending");
  expect(containers[0]).toMatchObject({ init: true, started: false, state: { kind: "running" } });
  expect(containers[1]).toMatchObject({ state: { kind: "waiting" } });
});

it("only a Pod whose workers run is ready", () => {
  const ready = (stage: Stage) => reported(stage).conditions.find(({ type }) => type === "Ready")?.status;
  expect(ready({ kind: "running" })).toBe("True");
  for (const kind of ["removed", "held"] as const) expect(ready({ kind })).toBe("False");
});
