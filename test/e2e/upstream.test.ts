// JobSet's own alpha of in-place restart: JobSet's controller counts the attempts, and the injected agent follows.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitFor } from "../cluster/proc.ts";
import { kill, type PodState, TrainingGroup } from "./group.ts";
import { type Installation, install } from "./reprise.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 300_000 });

let installation: Installation;

beforeAll(async () => {
  installation = await install({ upstreamInPlace: true });
});

afterAll(async () => {
  await installation?.end();
});

async function attempted(group: TrainingGroup, attempt: number): Promise<readonly PodState[]> {
  return await waitFor(`${group.name} runs in attempt ${attempt}`, 90_000, async () => {
    const [{ currentInPlaceRestartAttempt }, pods] = await Promise.all([group.rawStatus(), group.pods()]);
    const isThere = pods.length === 3 && pods.every((pod) => pod.attempt === attempt);
    // The kubelet's status lags. A worker of this attempt has restarted as often.
    const isRunning = pods.every(({ worker }) => worker.running && worker.restarts === attempt);
    return currentInPlaceRestartAttempt === attempt && isThere && isRunning ? pods : undefined;
  });
}

describe.concurrent("with the feature gate InPlaceRestart of JobSet", () => {
  test("restartStrategy InPlaceRestart: JobSet's controller restarts the group in place", async () => {
    const group = await TrainingGroup.start(installation, "upstream", {
      stages: { leaders: 1, followers: 2 },
      failurePolicy: { restartStrategy: "InPlaceRestart" },
    });
    const before = await attempted(group, 0);
    kill(...before.slice(0, 1).map(({ worker }) => worker));
    const again = await attempted(group, 1);
    kill(...again.slice(1).map(({ agent }) => agent));
    const after = await attempted(group, 2);
    expect(after.map(({ uid }) => uid)).toEqual(before.map(({ uid }) => uid));
    const { arrived, lastArrival, firstStart } = await group.startOf(after);
    expect(arrived).toEqual([2, 2, 2]);
    expect(firstStart).toBeGreaterThan(lastArrival);
    expect(await group.rawStatus()).toMatchObject({ previousInPlaceRestartAttempt: 1 });
    // reprise's controller leaves the group alone.
    expect(await group.state()).toBeUndefined();
    await group.delete();
  });

  test("reprise restarts every other JobSet, as without the feature", async () => {
    const group = await TrainingGroup.start(installation, "ours", { stages: { workers: 2 } });
    const before = await group.running();
    kill(...before.pods.slice(0, 1).map(({ worker }) => worker));
    expect(await group.restarted(before.syncedEpoch + 1)).toMatchObject({ restarts: 1 });
    await group.delete();
  });
});
