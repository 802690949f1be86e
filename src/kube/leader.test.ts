import fc from "fast-check";
import { expect, test } from "vitest";
import { LeaderElection, type LeaderOptions } from "./leader.ts";
import { type Fate, LeaseStore } from "./testing/lease-store.ts";
import { VirtualClock } from "./testing/virtual-clock.ts";

const LEASE = 6_000;
const DEADLINE = 4_000;

function electorate(fate: (candidate: string) => Fate = () => ({ delayMs: 10 })) {
  const clock = new VirtualClock();
  const store = new LeaseStore(clock, fate);
  const errors: unknown[] = [];
  const candidate = (identity: string, options: Partial<LeaderOptions> = {}) => {
    const election = new LeaderElection({
      client: store.client(identity),
      namespace: "ns",
      name: "lease",
      identity,
      lead: () => {},
      onError: (error) => errors.push(error),
      clock,
      random: () => 0.5,
      ...options,
    });
    election.start();
    return election;
  };
  return { clock, store, candidate, errors };
}

test("one of two candidates leads, and the other waits as long as it renews", async () => {
  const { clock, store, candidate } = electorate();
  const a = candidate("a");
  await clock.advance(100);
  const b = candidate("b");
  await clock.advance(120_000);
  expect([a.isLeader(), b.isLeader()]).toEqual([true, false]);
  expect([a.holder, b.holder]).toEqual(["a", "a"]);
  expect(a.signal.aborted).toBe(false);
  expect(b.signal.aborted).toBe(true);
  expect(store.spec).toMatchObject({ holderIdentity: "a", leaseDurationSeconds: 6, leaseTransitions: 0 });
});

test("a leader that cannot renew steps down before another candidate takes over", async () => {
  let cut = false;
  const { clock, store, candidate } = electorate((who) => (cut && who === "a" ? "lost-before" : { delayMs: 1_000 }));
  const a = candidate("a");
  const b = candidate("b");
  await clock.advance(30_000);
  expect(a.isLeader()).toBe(true);
  const { signal } = a;
  cut = true;
  const cutAt = clock.now();
  while (a.isLeader()) await clock.advance(50);
  expect(signal.aborted).toBe(true);
  expect(clock.now() - cutAt).toBeLessThanOrEqual(DEADLINE);
  expect(b.isLeader()).toBe(false);
  const endedAt = clock.now();
  while (!b.isLeader()) await clock.advance(50);
  expect(clock.now() - endedAt).toBeGreaterThanOrEqual(LEASE - DEADLINE);
  expect(store.spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
});

test("a renewal that took effect but whose response was lost does not extend the term", async () => {
  let lose = false;
  const { clock, candidate } = electorate(() => (lose ? "lost-after" : { delayMs: 10 }));
  const a = candidate("a");
  await clock.advance(100);
  lose = true;
  await clock.advance(DEADLINE + 100);
  expect(a.isLeader()).toBe(false);
});

test("stop ends the term at once, waits for its work, and releases the Lease to a waiting candidate", async () => {
  const { clock, store, candidate } = electorate();
  const order: string[] = [];
  const a = candidate("a", {
    lead: (signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          order.push("aborted");
          clock.after(1_000, () => {
            order.push("work done");
            resolve();
          });
        });
      }),
    onHolder: (holder) => order.push(`holder ${holder}`),
  });
  await clock.advance(100);
  const b = candidate("b");
  await clock.advance(5_000);
  const stopped = a.stop().then(() => order.push("stopped"));
  expect(a.isLeader()).toBe(false);
  await clock.advance(900);
  expect(store.spec["holderIdentity"]).toBe("a");
  // The work ends after 100 ms, and a candidate looks at the Lease every 600 ms at the latest.
  await clock.advance(750);
  await stopped;
  expect(order).toEqual(["holder a", "aborted", "work done", "stopped"]);
  expect(b.isLeader()).toBe(true);
  expect(store.spec["leaseTransitions"]).toBe(1);
});

test("work that does not end in time keeps the Lease from being released early", async () => {
  const { clock, store, candidate } = electorate();
  const a = candidate("a", { lead: () => new Promise(() => {}) });
  await clock.advance(100);
  const stopped = a.stop();
  await clock.advance(DEADLINE + 100);
  await stopped;
  expect(store.spec["holderIdentity"]).toBe("a");
});

test("a leader whose Lease was deleted steps down, and a candidate leads again", async () => {
  const { clock, store, candidate, errors } = electorate();
  const a = candidate("a");
  await clock.advance(100);
  const first = a.signal;
  store.delete();
  await clock.advance(2_100);
  expect(first.aborted).toBe(true);
  await clock.advance(5_000);
  expect(a.isLeader()).toBe(true);
  expect(errors).toHaveLength(1);
});

test("a failure of a term's work is reported and does not end the election", async () => {
  const { clock, candidate, errors } = electorate();
  const a = candidate("a", { lead: () => Promise.reject(new Error("boom")) });
  await clock.advance(30_000);
  expect(errors).toEqual([new Error("boom")]);
  expect(a.isLeader()).toBe(true);
});

test("durations that could let two processes lead at once are rejected", () => {
  const timing = { leaseMs: 10_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
  expect(() => electorate().candidate("a", { timing })).toThrow(RangeError);
});

test("two candidates never lead at once, whatever requests are lost, and one leads afterwards", async () => {
  const fate = fc.oneof(
    fc.constant<Fate>("lost-before"),
    fc.constant<Fate>("lost-after"),
    fc.integer({ min: 0, max: 9_000 }).map((delayMs): Fate => ({ delayMs })),
  );
  const trouble = fc.record({
    who: fc.constantFrom("a", "b", "c"),
    from: fc.integer({ min: 0, max: 100_000 }),
    length: fc.integer({ min: 1_000, max: 40_000 }),
    fate,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(trouble, { maxLength: 12 }), async (troubles) => {
      const { clock, candidate } = electorate((who) => {
        const now = clock.now();
        const hit = troubles.find((one) => one.who === who && one.from <= now && now < one.from + one.length);
        return hit?.fate ?? { delayMs: 10 };
      });
      const all = ["a", "b", "c"].map((identity) => candidate(identity));
      const leaders = () => all.filter((election) => election.isLeader()).length;
      for (let step = 0; step < 700; step++) {
        await clock.advance(200);
        expect(leaders()).toBeLessThanOrEqual(1);
      }
      await clock.advance(60_000);
      expect(leaders()).toBe(1);
    }),
    { numRuns: 40 },
  );
}, 30_000);
