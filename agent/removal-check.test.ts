import { expect, it, vi } from "vitest";
import type { Removal, TypeState } from "./decide-removed.ts";
import { RemovalCheck } from "./removal-check.ts";

/** An agent that is denied access, with answers of the API server and a clock in seconds. */
function denied(inherited?: Removal) {
  const clock = { seconds: 1_000 };
  const saved: (Removal | undefined)[] = [];
  const warn = vi.fn();
  const typeState = vi.fn<() => Promise<TypeState>>(async () => "gone");
  const effects = {
    typeState,
    save: async (removal: Removal | undefined) => void saved.push(removal),
    now: () => clock.seconds * 1000,
    wallClock: () => clock.seconds,
    random: () => 1,
  };
  const check = new RemovalCheck(effects, { info: vi.fn(), warn }, inherited);
  /** Retries every five seconds, as the follower does. */
  const retryUntil = async (end: number): Promise<boolean> => {
    for (; clock.seconds < end; clock.seconds += 5) if (await check.isRemoved()) return true;
    return false;
  };
  return { check, clock, saved, warn, typeState, retryUntil };
}

const PROVEN = { since: 100, confirmed: 220 };

it("asks every ten seconds while access is denied, and says after two minutes that reprise was removed", async () => {
  const { clock, typeState, retryUntil } = denied();
  expect(await retryUntil(2_000)).toBe(true);
  expect(clock.seconds).toBe(1_120);
  expect(typeState).toHaveBeenCalledTimes(13);
});

it("saves what it knows after every answer, for the Pod's next agent", async () => {
  const { saved, retryUntil } = denied();
  await retryUntil(1_020);
  expect(saved).toEqual([
    { since: 1_000, confirmed: 1_000 },
    { since: 1_000, confirmed: 1_010 },
  ]);
});

it("believes the proof of the Pod's previous agent at the first answer", async () => {
  const { typeState, retryUntil } = denied(PROVEN);
  expect(await retryUntil(1_005)).toBe(true);
  expect(typeState).toHaveBeenCalledTimes(1);
});

it("times from the beginning, and forgets what it saved, when another request fails for another reason", async () => {
  const { check, saved, retryUntil } = denied();
  await retryUntil(1_100);
  await check.learn("unknown");
  expect(saved.at(-1)).toBeUndefined();
  expect(await retryUntil(1_200)).toBe(false);
});

it("forgets an old proof when a request of the type succeeds", async () => {
  const { check, saved, retryUntil } = denied(PROVEN);
  await check.learn("served");
  expect(saved).toEqual([undefined]);
  expect(await retryUntil(1_100)).toBe(false);
});

it("writes and logs nothing while there is nothing to know", async () => {
  const { check, saved, warn, typeState, retryUntil } = denied();
  typeState.mockResolvedValue("served");
  await retryUntil(1_100);
  await check.learn("unknown");
  expect(saved).toEqual([]);
  expect(warn).not.toHaveBeenCalled();
});

it("logs once that the type is gone", async () => {
  const { warn, retryUntil } = denied();
  await retryUntil(1_100);
  expect(warn).toHaveBeenCalledTimes(1);
});
