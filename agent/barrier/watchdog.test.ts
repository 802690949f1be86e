import { expect, it, vi } from "vitest";
import { RequestError } from "../api/request-error.ts";
import { Watchdog } from "./watchdog.ts";

const WAITING_POD = { metadata: {} };
const rejected = (status: number) => new RequestError(String(status), { status });
const DELETED_POD = { metadata: { deletionTimestamp: "2026-11-16T12:00:30Z" } };
/**
 * Runs the watchdog until the responses are used up; then the barrier lifts. Returns the pauses, and how often the gate
 * was told to keep waiting. The group's object is deleted during the pause of number `deletedDuring`.
 */
async function runThrough(
  responses: readonly unknown[],
  group: { lost: boolean; deletedDuring?: number } = { lost: false },
) {
  const left = [...responses];
  const pauses: number[] = [];
  const barrier = { isLifted: false, keepWaiting: vi.fn() };
  let reason: string | undefined;
  let gone = Promise.withResolvers<void>();
  const effects = {
    ownPod: async () => {
      const response = left.shift();
      if (response instanceof Error) throw response;
      return response;
    },
    giveUp: async (why: string) => {
      reason = why;
    },
    sleep: async (ms: number) => {
      pauses.push(ms);
      if (pauses.length === group.deletedDuring) {
        gone.resolve();
        gone = Promise.withResolvers();
        await new Promise(() => {});
      }
      barrier.isLifted = left.length === 0;
    },
    hasLostGroup: () => group.lost,
    groupGone: () => gone.promise,
    random: () => 1,
  };
  const watchdog = new Watchdog(barrier, 0, effects);
  await watchdog.run();
  return { reason, lastError: watchdog.lastError, pauses, told: barrier.keepWaiting.mock.calls.length };
}

it("sends no request if the barrier lifts soon", async () => {
  expect(await runThrough([])).toEqual({ lastError: "", pauses: [3_000], told: 0 });
});

it("tells the gate to keep waiting whenever the API server confirms the Pod, less and less often", async () => {
  const { reason, pauses, told } = await runThrough([WAITING_POD, WAITING_POD, WAITING_POD, WAITING_POD]);
  expect({ reason, told }).toEqual({ reason: undefined, told: 4 });
  expect(pauses).toEqual([3_000, 6_000, 12_000, 20_000, 20_000]);
});

it("does not tell the gate to keep waiting while the API server does not answer", async () => {
  const failing = await runThrough([WAITING_POD, new Error("busy"), new Error("no response")]);
  expect(failing).toMatchObject({ told: 1, lastError: "no response" });
  expect(await runThrough([WAITING_POD, new Error("no response"), WAITING_POD])).toMatchObject({
    told: 2,
    lastError: "",
  });
});

it("gives up, with a reason, when the Pod must not wait any longer", async () => {
  expect(await runThrough([WAITING_POD, DELETED_POD, WAITING_POD])).toMatchObject({
    reason: "the Pod is being deleted",
    told: 1,
  });
});

it("gives up when the API server no longer knows the Pod, and not if it never accepted the token", async () => {
  const reason = "the API server no longer knows the Pod";
  expect(await runThrough([rejected(404), WAITING_POD])).toMatchObject({ reason, told: 0 });
  expect(await runThrough([WAITING_POD, rejected(401), WAITING_POD])).toMatchObject({ reason, told: 1 });
  expect(await runThrough([rejected(401), WAITING_POD])).toMatchObject({ reason: undefined, told: 1 });
});

it("gives up when it lost access together with the group's object, and not when it only lost access", async () => {
  const reason = "the API server no longer knows the Pod";
  expect(await runThrough([rejected(403), WAITING_POD], { lost: true })).toMatchObject({ reason, told: 0 });
  expect(await runThrough([WAITING_POD, rejected(403), WAITING_POD], { lost: true })).toMatchObject({
    reason,
    told: 1,
  });
  expect(await runThrough([WAITING_POD, rejected(403), WAITING_POD])).toMatchObject({ reason: undefined, told: 2 });
});

it("checks soon after the group's object is deleted, but not at once: all agents learn of it together", async () => {
  const { pauses } = await runThrough([WAITING_POD, WAITING_POD, WAITING_POD, WAITING_POD, WAITING_POD], {
    lost: true,
    deletedDuring: 5,
  });
  expect(pauses).toEqual([3_000, 6_000, 12_000, 20_000, 20_000, 3_000, 6_000]);
});
