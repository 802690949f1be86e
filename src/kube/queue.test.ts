import { expect, test } from "vitest";
import { WorkQueue, type WorkQueueOptions } from "./queue.ts";
import { VirtualClock } from "./testing/virtual-clock.ts";

/** A queue whose work the test completes by hand. */
function manualQueue(options: Partial<WorkQueueOptions> = {}) {
  const clock = new VirtualClock();
  const started: { key: string; at: number }[] = [];
  const open = new Map<string, PromiseWithResolvers<void>>();
  const errors: unknown[] = [];
  const queue = new WorkQueue({
    process: (key) => {
      started.push({ key, at: clock.now() });
      expect(open.has(key), `${key} runs twice at the same time`).toBe(false);
      const work = Promise.withResolvers<void>();
      open.set(key, work);
      return work.promise;
    },
    onError: (_key, error) => errors.push(error),
    clock,
    random: () => 1,
    ...options,
  });
  const end = async (key: string, error?: Error) => {
    const work = open.get(key);
    open.delete(key);
    if (error) work?.reject(error);
    else work?.resolve();
    await clock.advance(0);
  };
  return { queue, clock, started, open, errors, end, keys: () => started.map(({ key }) => key) };
}

test("a key added many times before it runs, runs once", async () => {
  const { queue, keys, end } = manualQueue({ concurrency: 1 });
  queue.add("busy");
  for (let i = 0; i < 5; i++) queue.add("a");
  await end("busy");
  await end("a");
  expect(keys()).toEqual(["busy", "a"]);
});

test("a key added while it is processed runs exactly once more, never in parallel", async () => {
  const { queue, keys, end } = manualQueue();
  queue.add("a");
  queue.add("a");
  queue.add("a");
  expect(keys()).toEqual(["a"]);
  await end("a");
  expect(keys()).toEqual(["a", "a"]);
  await end("a");
  expect(keys()).toEqual(["a", "a"]);
});

test("no more keys run at a time than the concurrency allows, and the rest follow in order", async () => {
  const { queue, open, keys, end } = manualQueue({ concurrency: 2 });
  for (const key of ["a", "b", "c", "d"]) queue.add(key);
  expect([...open.keys()]).toEqual(["a", "b"]);
  expect(queue.depth).toBe(2);
  await end("b");
  expect([...open.keys()]).toEqual(["a", "c"]);
  await end("a");
  expect(keys()).toEqual(["a", "b", "c", "d"]);
});

test("a failing key is retried with backoff, and success resets the backoff", async () => {
  const { queue, clock, started, errors, end } = manualQueue({ backoff: { initialMs: 100, maxMs: 300 } });
  queue.add("a");
  await end("a", new Error("1"));
  await clock.advance(100);
  await end("a", new Error("2"));
  await clock.advance(200);
  await end("a", new Error("3"));
  await clock.advance(300);
  await end("a");
  queue.add("a");
  await end("a", new Error("4"));
  await clock.advance(100);
  expect(started.map(({ at }) => at)).toEqual([0, 100, 300, 600, 600, 700]);
  expect(errors).toHaveLength(4);
});

test("a failing key does not delay other keys", async () => {
  const { queue, keys, end } = manualQueue({ concurrency: 1 });
  queue.add("bad");
  queue.add("good");
  await end("bad", new Error("no"));
  expect(keys()).toEqual(["bad", "good"]);
});

test("a quiet key runs at once, and a busy one once per rest, also if it was added while it ran", async () => {
  const { queue, clock, started, end } = manualQueue({ restMs: 10 });
  queue.add("a");
  queue.add("a");
  await clock.advance(4);
  await end("a");
  for (let i = 0; i < 5; i++) queue.add("a");
  expect(queue.depth).toBe(1);
  queue.add("b");
  await clock.advance(5);
  expect(started).toEqual([
    { key: "a", at: 0 },
    { key: "b", at: 4 },
  ]);
  await clock.advance(1);
  await end("a");
  await clock.advance(100);
  queue.add("a");
  expect(started.slice(2)).toEqual([
    { key: "a", at: 10 },
    { key: "a", at: 110 },
  ]);
});

test("a key that was not added while it rested does not run again", async () => {
  const { queue, clock, keys, end } = manualQueue({ restMs: 10 });
  queue.add("a");
  await end("a");
  await clock.advance(100);
  expect(keys()).toEqual(["a"]);
});

test("a key rests to the end even if timers fire early", async () => {
  const clock = new VirtualClock();
  const started: number[] = [];
  const queue = new WorkQueue({
    process: async () => {
      started.push(clock.now());
    },
    onError: () => {},
    clock: { now: () => clock.now(), after: (ms, run) => clock.after(Math.max(1, ms - 3), run) },
    restMs: 10,
  });
  queue.add("a");
  await clock.advance(0);
  queue.add("a");
  await clock.advance(50);
  expect(started).toEqual([0, 10]);
});

test("a key whose work took longer than its rest runs again at once", async () => {
  const { queue, clock, started, end } = manualQueue({ restMs: 10 });
  queue.add("a");
  queue.add("a");
  await clock.advance(50);
  await end("a");
  expect(started.map(({ at }) => at)).toEqual([0, 50]);
});

test("a key that occupies the thread rests ten times as long, but no longer than 100 ms", async () => {
  const clock = new VirtualClock();
  let busyMs = 5;
  const started: number[] = [];
  const queue = new WorkQueue({
    process: async () => {
      started.push(clock.now());
      clock.pass(busyMs);
    },
    onError: () => {},
    clock,
    restMs: 10,
  });
  queue.add("a");
  await clock.advance(0);
  queue.add("a");
  await clock.advance(44);
  expect(started).toEqual([0]);
  await clock.advance(1);
  expect(started).toEqual([0, 50]);
  await clock.advance(100);
  busyMs = 60;
  queue.add("a");
  const last = started.at(-1) ?? 0;
  await clock.advance(0);
  queue.add("a");
  await clock.advance(200);
  expect(started.slice(2)).toEqual([last, last + 100]);
});

test("the earliest of several delays for a key wins", async () => {
  const { queue, clock, started, end } = manualQueue();
  queue.addAfter("a", 500);
  queue.addAfter("a", 200);
  queue.addAfter("a", 900);
  await clock.advance(1_000);
  await end("a");
  expect(started).toEqual([{ key: "a", at: 200 }]);
});

test("drain waits for waiting and running keys, not for delayed ones", async () => {
  const { queue, end } = manualQueue({ concurrency: 1 });
  queue.add("a");
  queue.add("b");
  queue.addAfter("later", 60_000);
  let drained = false;
  const done = queue.drain().then(() => {
    drained = true;
  });
  await end("a");
  expect(drained).toBe(false);
  await end("b");
  await done;
  await queue.drain();
});

test("stop waits for running keys and starts no others", async () => {
  const { queue, clock, keys, end } = manualQueue({ concurrency: 1 });
  queue.add("a");
  queue.add("b");
  queue.addAfter("c", 10);
  const stopped = queue.stop();
  await end("a", new Error("failed while stopping"));
  await stopped;
  queue.add("d");
  await clock.advance(60_000);
  expect(keys()).toEqual(["a"]);
});
