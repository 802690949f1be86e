import { expect, it, vi } from "vitest";
import { ApiTrouble } from "../api/api-trouble.ts";
import { Hold } from "./hold.ts";

const ROOM = { metadata: {} };
const refusal = (status: number) => new ApiTrouble(String(status), { status });
const LEAVING = { metadata: { deletionTimestamp: "2026-11-16T12:00:30Z" } };
/**
 * Holds until the answers are used up, and then the barrier lifts. Gives back the pauses, and how often the gate was told to wait. The group's
 * object goes during the pause of that number.
 */
async function holdThrough(
  answers: readonly unknown[],
  group: { lost: boolean; goesDuring?: number } = { lost: false },
) {
  const left = [...answers];
  const pauses: number[] = [];
  const barrier = { isLifted: false, waitOn: vi.fn() };
  let reason: string | undefined;
  let gone = Promise.withResolvers<void>();
  const effects = {
    ownPod: async () => {
      const answer = left.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
    giveUp: async (why: string) => {
      reason = why;
    },
    sleep: async (ms: number) => {
      pauses.push(ms);
      if (pauses.length === group.goesDuring) {
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
  const hold = new Hold(barrier, 0, effects);
  await hold.run();
  return { reason, trouble: hold.trouble, pauses, told: barrier.waitOn.mock.calls.length };
}

it("asks nobody where the barrier lifts soon", async () => {
  expect(await holdThrough([])).toEqual({ trouble: "", pauses: [3_000], told: 0 });
});

it("tells the gate to wait each time that the API server confirms its Pod, ever less often", async () => {
  const { reason, pauses, told } = await holdThrough([ROOM, ROOM, ROOM, ROOM]);
  expect({ reason, told }).toEqual({ reason: undefined, told: 4 });
  expect(pauses).toEqual([3_000, 6_000, 12_000, 20_000, 20_000]);
});

it("does not tell the gate to wait when nothing is known", async () => {
  const troubled = await holdThrough([ROOM, new Error("busy"), new Error("no answer")]);
  expect(troubled).toMatchObject({ told: 1, trouble: "no answer" });
  expect(await holdThrough([ROOM, new Error("no answer"), ROOM])).toMatchObject({ told: 2, trouble: "" });
});

it("gives up, and says why, when the Pod must not wait any longer", async () => {
  expect(await holdThrough([ROOM, LEAVING, ROOM])).toMatchObject({ reason: "the Pod is being deleted", told: 1 });
});

it("gives up when the API server no longer knows the Pod, and not when it never did", async () => {
  const reason = "the API server no longer knows the Pod";
  expect(await holdThrough([refusal(404), ROOM])).toMatchObject({ reason, told: 0 });
  expect(await holdThrough([ROOM, refusal(401), ROOM])).toMatchObject({ reason, told: 1 });
  expect(await holdThrough([refusal(401), ROOM])).toMatchObject({ reason: undefined, told: 1 });
});

it("gives up when its rights went with the group's object, and not when only they did", async () => {
  const reason = "the API server no longer knows the Pod";
  expect(await holdThrough([refusal(403), ROOM], { lost: true })).toMatchObject({ reason, told: 0 });
  expect(await holdThrough([ROOM, refusal(403), ROOM], { lost: true })).toMatchObject({ reason, told: 1 });
  expect(await holdThrough([ROOM, refusal(403), ROOM])).toMatchObject({ reason: undefined, told: 2 });
});

it("asks soon when the group's object is gone, but not at once: all agents of the group are told together", async () => {
  const { pauses } = await holdThrough([ROOM, ROOM, ROOM, ROOM, ROOM], { lost: true, goesDuring: 5 });
  expect(pauses).toEqual([3_000, 6_000, 12_000, 20_000, 20_000, 3_000, 6_000]);
});
