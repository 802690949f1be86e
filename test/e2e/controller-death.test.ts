// A controller that is killed with SIGKILL at every write of a restart, before and after the API server applies the
// write. The test finds the writes by watching one restart.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { hasStatus } from "../../src/kube/api-error.ts";
import type { RunningProgram } from "../cluster/processes.ts";
import { type Fault, type FaultProxy, faultProxy } from "./fault-proxy.ts";
import { kill, type PodState, podAt, TrainingGroup } from "./group.ts";
import { type Installation, install, UNDETERRED } from "./reprise.ts";

// A test restarts the group a dozen times. Each wait has its own time limit.
vi.setConfig({ testTimeout: 900_000 });

let installation: Installation;
let proxy: FaultProxy;
let controller: RunningProgram;

beforeAll(async () => {
  installation = await install({}, UNDETERRED);
  const { reprise } = installation;
  proxy = await faultProxy(reprise.apiServer);
  controller = reprise.controller;
  await controller.kill();
  await succeed();
});

afterAll(async () => {
  await installation?.end();
  await proxy?.[Symbol.asyncDispose]();
});

/** Starts the next controller. The last one is dead, so the next need not wait until the Lease expires. */
async function succeed(): Promise<void> {
  const lease = "/apis/coordination.k8s.io/v1/namespaces/reprise-system/leases/reprise-controller";
  await installation.client.request("DELETE", lease).catch((error: unknown) => {
    if (!hasStatus(error, 404)) throw error;
  });
  controller = await installation.reprise.startController(proxy.server);
}

/** A group that restarts many times, each time exactly once and in place. */
async function restartable(name: string) {
  const group = await TrainingGroup.start(installation, name, { stages: { workers: 2 }, maxRestarts: 1_000 });
  const first = await group.running();
  let restarts = 0;
  const restart = async (fault?: Fault, follow = succeed) => {
    const { pods } = await group.running();
    restarts += 1;
    await fail(podAt({ pods }, restarts % pods.length), fault, follow);
    // Counted since the first start, so that an extra restart at any time shows here.
    const after = await group.restarted(first.syncedEpoch + restarts);
    expect(after, describeFault(fault)).toMatchObject({ restarts });
    expect(after.pods.map(identity), describeFault(fault)).toEqual(first.pods.map(identity));
    expect(after.pods.map(({ worker }) => worker.restarts)).toEqual(first.pods.map(() => restarts));
  };
  return { group, restart };
}

test("a controller killed at any write: the next one completes the restart in place, counted once", async () => {
  const { group, restart } = await restartable("steps");
  await restart();
  const writes = await quiet();
  console.info(`a restart writes:\n${writes.join("\n")}`);
  for (const step of ["deprecated", "synced", "allRunning"]) statusWrite(writes, step);
  for (const fault of faultsAt(writes)) await restart(fault);
  // One more restart shows anything that the last one left undone.
  await restart();
  await group.delete();
});

test("a leader killed at any write: the standby completes the restart in place, counted once", async () => {
  const { group, restart } = await restartable("standby");
  await restart();
  const writes = await quiet();
  const faults: readonly Fault[] = [
    { write: statusWrite(writes, "deprecated"), moment: "after" },
    { write: statusWrite(writes, "synced"), moment: "before" },
  ];
  for (const fault of faults) {
    // The controller that just completed a restart is the leader, so this one waits.
    const standby = await installation.reprise.startController(proxy.server);
    await restart(fault, async () => {
      controller = standby;
    });
  }
  await restart();
  await group.delete();
});

test("a controller killed at any write of the final failure: the JobSet fails once", async () => {
  const start = async (index: number) => {
    const shape = { stages: { workers: 2 }, maxRestarts: 0 };
    const group = await TrainingGroup.start(installation, `spent-${index}`, shape);
    await group.running();
    return group;
  };
  const spend = async (group: TrainingGroup, fault?: Fault) => {
    const { pods } = await group.running();
    await fail(podAt({ pods }, 0), fault);
    const { conditions } = await group.ended();
    const failed = conditions.filter(({ type, status }) => type === "Failed" && status === "True");
    expect(failed, describeFault(fault)).toMatchObject([{ reason: "ReachedMaxRestarts" }]);
    await group.gone();
    const last = await group.reached("says that it failed", ({ phase }) => phase === "Failed");
    expect(last, describeFault(fault)).toMatchObject({ restarts: 0 });
    return group;
  };

  const first = await spend(await start(0));
  const writes = await quiet();
  await first.delete();
  console.info(`the failure of a JobSet writes:\n${writes.join("\n")}`);
  expect(writes).toContain("PATCH jobsets/status");
  const faults = faultsAt(writes);
  // All groups start together, because each needs seconds to start and a group that runs writes nothing.
  const groups = await Promise.all(faults.map((_fault, index) => start(index + 1)));
  for (const [index, group] of groups.entries()) await (await spend(group, faults[index])).delete();
});

/** Kills the worker. With a fault, also kills the controller at that write and starts the next one. */
async function fail({ worker }: PodState, fault: Fault | undefined, follow = succeed): Promise<void> {
  // Late writes of the last restart must not count as writes of this one.
  await quiet();
  const struck = fault === undefined ? undefined : proxy.strike(fault, () => controller.kill());
  kill(worker);
  if (struck === undefined) return;
  await within(60_000, struck, `${fault?.write} was not written`);
  await follow();
}

/** Equal descriptions are the same step, with another count of ready Pods. */
function faultsAt(writes: readonly string[]): readonly Fault[] {
  return [...new Set(writes)].flatMap((write) => [
    { write, moment: "before" } as const,
    { write, moment: "after" } as const,
  ]);
}

function describeFault(fault: Fault | undefined): string {
  return fault === undefined ? "undisturbed" : `killed ${fault.moment} ${fault.write}`;
}

/** The first write that records this step in the InPlaceRestart object. */
function statusWrite(writes: readonly string[], step: string): string {
  const write = writes.find((each) => each.startsWith("PATCH inplacerestarts/status ") && each.includes(step));
  if (write === undefined) throw new Error(`${step} is not among what was written: ${writes.join("; ")}`);
  return write;
}

/** Waits until the controller stops writing, and returns what it has written since the last call. */
async function quiet(): Promise<readonly string[]> {
  const writes: string[] = [];
  // Events follow a write at once, and the next decision within milliseconds.
  for (let news = proxy.takeWrites(); ; news = proxy.takeWrites()) {
    writes.push(...news);
    await sleep(1_500);
    if (news.length === 0) return writes;
  }
}

async function within<T>(ms: number, promise: Promise<T>, otherwise: string): Promise<T> {
  const patience = new AbortController();
  const late = sleep(ms, undefined, { signal: patience.signal }).then(() => {
    throw new Error(`${otherwise} within ${ms / 1_000} s`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    late.catch(() => {});
    patience.abort();
  }
}

function identity({ name, uid }: PodState): readonly string[] {
  return [name, uid];
}
