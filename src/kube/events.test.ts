import { expect, test } from "vitest";
import type { JsonObject } from "../json/types.ts";
import { ApiError, isJsonObject } from "./api-error.ts";
import { EventRecorder, type EventRecorderOptions, type Occurrence } from "./events.ts";
import { VirtualClock } from "./testing/virtual-clock.ts";

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: JsonObject;
}

function recorder(options: Partial<EventRecorderOptions> = {}, answer: (sent: Sent) => number = () => 200) {
  const clock = new VirtualClock();
  const sent: Sent[] = [];
  const errors: unknown[] = [];
  const events = new EventRecorder({
    client: {
      request: async (method, path, { body }) => {
        if (!isJsonObject(body)) throw new TypeError("an Event is an object");
        const request = { method, path, body };
        sent.push(request);
        const status = answer(request);
        if (status >= 300) throw new ApiError({ server: "s", method, path, status, body: "" });
        return {};
      },
    },
    reportingController: "reprise.dev/controller",
    reportingInstance: "pod-1",
    onError: (error) => errors.push(error),
    clock,
    ...options,
  });
  return { events, clock, sent, errors };
}

function occurrence(note = "worker exited with 1"): Occurrence {
  const regarding = { apiVersion: "v1", kind: "Pod", namespace: "ns", name: "p", uid: "u" };
  return { regarding, type: "Warning", reason: "WorkerFailed", action: "Restart", note };
}

test("a thousand repetitions become one Event with a bounded number of updates", async () => {
  const { events, clock, sent } = recorder();
  for (let i = 0; i < 1_000; i++) {
    events.record(occurrence());
    await clock.advance(50);
  }
  await clock.advance(20_000);
  expect(sent.filter(({ method }) => method === "POST")).toHaveLength(1);
  const patches = sent.filter(({ method }) => method === "PATCH");
  expect(patches.length).toBeLessThanOrEqual(6);
  expect(patches.at(-1)?.body["series"]).toMatchObject({ count: 1_000 });
  expect(events.dropped).toBe(0);
});

test("another note, reason or object is another Event", async () => {
  const { events, clock, sent } = recorder();
  events.record(occurrence("one"));
  events.record(occurrence("two"));
  await clock.advance(100);
  expect(sent.map(({ body }) => body["note"])).toEqual(["one", "two"]);
});

test("a repetition after the window starts a new Event", async () => {
  const { events, clock, sent } = recorder();
  events.record(occurrence());
  await clock.advance(11 * 60_000);
  events.record(occurrence());
  await clock.advance(100);
  expect(sent.map(({ method }) => method)).toEqual(["POST", "POST"]);
});

test("a flood of different Events is rate-limited, and dropped Events are counted", async () => {
  const { events, clock, sent } = recorder();
  for (let i = 0; i < 500; i++) events.record(occurrence(`note ${i}`));
  await clock.advance(100);
  expect(sent).toHaveLength(100);
  expect(events.dropped).toBe(400);
  await clock.advance(3_000);
  for (let i = 0; i < 10; i++) events.record(occurrence(`later ${i}`));
  await clock.advance(100);
  expect(sent).toHaveLength(103);
});

test("a failing request is retried a few times; then the Event is dropped and counted", async () => {
  const { events, clock, sent, errors } = recorder({}, () => 503);
  events.record(occurrence());
  await clock.advance(60_000);
  expect(sent).toHaveLength(5);
  expect(errors).toHaveLength(5);
  expect(events.dropped).toBe(1);
});

test("a rejected Event is dropped at once", async () => {
  const { events, clock, sent } = recorder({}, () => 403);
  events.record(occurrence());
  await clock.advance(60_000);
  expect(sent).toHaveLength(1);
  expect(events.dropped).toBe(1);
});

test("a series whose Event has expired on the server continues as a new Event", async () => {
  const { events, clock, sent } = recorder({}, ({ method }) => (method === "PATCH" ? 404 : 200));
  events.record(occurrence());
  await clock.advance(100);
  events.record(occurrence());
  await clock.advance(60_000);
  expect(sent.map(({ method }) => method)).toEqual(["POST", "PATCH", "POST"]);
  expect(sent[2]?.body["series"]).toMatchObject({ count: 2 });
});

test("stop sends the last count without waiting for the next update", async () => {
  const { events, clock, sent } = recorder();
  events.record(occurrence());
  await clock.advance(100);
  events.record(occurrence());
  events.record(occurrence());
  await events.stop();
  expect(sent.at(-1)?.body["series"]).toMatchObject({ count: 3 });
});

test("a note is truncated to the API's limit, between characters", async () => {
  const { events, clock, sent } = recorder();
  events.record(occurrence("ä".repeat(2_000)));
  await clock.advance(100);
  expect(sent[0]?.body["note"]).toBe("ä".repeat(512));
});
