import { describe, expect, it } from "vitest";
import { AGENT, JOBSET } from "../../api/names.ts";
import { readPod } from "../../api/pod.ts";
import { podState, restartsOf } from "./pod-state.ts";

interface Facts {
  readonly epoch?: number;
  readonly worker?: object;
  readonly phase?: string;
  readonly deleted?: boolean;
}

function pod({ epoch, worker = { running: {} }, phase = "Running", deleted = false }: Facts) {
  return readPod({
    metadata: {
      name: "p",
      labels: { [JOBSET.replicatedJobKey]: "workers" },
      ...(epoch === undefined ? {} : { annotations: { [JOBSET.epochAnnotation]: String(epoch) } }),
      ...(deleted ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    status: {
      phase,
      initContainerStatuses: [{ name: AGENT.container, restartCount: 9, state: { running: {} } }],
      containerStatuses: [{ name: "worker", restartCount: 2, state: worker }],
    },
  });
}

const RUNS = { deprecatedEpoch: 2, syncedEpoch: 3, heldStages: [] };
const BETWEEN = { deprecatedEpoch: 3, syncedEpoch: 3, heldStages: [] };
const EXITED = { terminated: { exitCode: 1 } };

describe("the state of a Pod", () => {
  it.each([
    ["its worker runs in the epoch that runs", { epoch: 3 }, RUNS, "running"],
    [
      "its worker has succeeded and the Pod has not",
      { epoch: 3, worker: { terminated: { exitCode: 0 } } },
      RUNS,
      "running",
    ],
    ["its worker is yet to start in the epoch that runs", { epoch: 3, worker: { waiting: {} } }, RUNS, "starting"],
    ["it waits for the others", { epoch: 4, worker: { waiting: {} } }, BETWEEN, "barrier"],
    ["the kubelet still reports the exit before the barrier", { epoch: 4, worker: EXITED }, BETWEEN, "barrier"],
    ["its stage is held", { epoch: 3 }, { ...RUNS, heldStages: ["workers"] }, "barrier"],
    ["its epoch has ended and it still runs", { epoch: 3 }, BETWEEN, "restarting"],
    ["its worker has crashed", { epoch: 3, worker: EXITED }, RUNS, "failed"],
    ["its worker has crashed, which ended the epoch", { epoch: 3, worker: EXITED }, BETWEEN, "failed"],
    ["it has failed", { epoch: 3, phase: "Failed" }, RUNS, "failed"],
    ["it has no epoch yet", { worker: { waiting: {} }, phase: "Pending" }, RUNS, "pending"],
    ["it goes away", { epoch: 3, deleted: true }, RUNS, "terminating"],
    ["it has succeeded and goes away", { epoch: 3, phase: "Succeeded", deleted: true }, RUNS, "succeeded"],
    ["the group has no epochs yet", { epoch: 1 }, undefined, "barrier"],
  ] as const)("if %s", (_, facts, epochs, expected) => {
    expect(podState(pod(facts), epochs)).toBe(expected);
  });

  it("counts restarts of workers, not those of the agent", () => {
    expect(restartsOf(pod({}))).toBe(2);
  });
});
