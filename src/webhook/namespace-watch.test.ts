// The watch behind reprise.dev/max-restarts of Namespaces, with a server that sends events when a test says so.
import { pino } from "pino";
import { afterEach, expect, test, vi } from "vitest";
import { eventually } from "../../test/eventually.ts";
import type { JsonObject } from "../json/types.ts";
import { watchedCollection } from "../kube/testing/watched-collection.ts";
import { allOf } from "./catch-up.ts";
import { NamespaceWatch } from "./namespace-watch.ts";
import type { AdmissionRequest } from "./review.ts";

afterEach(() => {
  vi.useRealTimers();
});

const KEY = "reprise.dev/max-restarts";

function namespace(name: string, maxRestarts?: string): JsonObject {
  const annotations = maxRestarts === undefined ? {} : { [KEY]: maxRestarts };
  return { metadata: { name, uid: name, resourceVersion: "5", annotations } };
}

function request(more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const asked = { uid: "u", operation: "CREATE", namespace: "team", name: "train", dryRun: false } as const;
  return { ...asked, object: { metadata: {} }, oldObject: undefined, ...more };
}

/** A cluster in which the Namespaces "old" and "plain" exist from the start. */
function cluster(status = 200) {
  const items = [namespace("old", "8"), namespace("plain")];
  return watchedCollection(
    { items, status },
    (client) => new NamespaceWatch({ client, log: pino({ level: "silent" }) }),
  );
}

test("the annotations of all Namespaces are known after the first list", async () => {
  await using all = await cluster();
  expect(all.server.requests[0]).toBe("GET /api/v1/namespaces?limit=500");
  expect(all.watch.limitOf("old")).toEqual({ kind: "known", text: "8" });
  expect(all.watch.limitOf("plain")).toEqual({ kind: "known", text: undefined });
});

test.each([
  ["in a Namespace that is known", request({ namespace: "plain" })],
  ["with an annotation of its own", request({ object: { metadata: { annotations: { [KEY]: "3" } } } })],
  ["about a live JobSet", request({ operation: "UPDATE" })],
])("a request %s does not wait", async (_what, asked) => {
  await using all = await cluster();
  expect(all.watch.pending(asked)).toBeUndefined();
});

test("a request in a new Namespace waits until the watch shows the Namespace", async () => {
  await using all = await cluster();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const pending = all.watch.pending(request());
  expect(pending).toBeDefined();
  all.appears(namespace("team", "9"));
  await pending;
  expect(all.watch.limitOf("team")).toEqual({ kind: "known", text: "9" });
});

test("a request in a Namespace that the watch does not show continues after half a second, and says so", async () => {
  await using all = await cluster();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const settled = vi.fn();
  const pending = all.watch.pending(request())?.then(settled);
  await vi.advanceTimersByTimeAsync(499);
  expect(settled).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await pending;
  expect(all.watch.limitOf("team")).toEqual({ kind: "unavailable", reason: "the watch has not shown it yet" });
});

test("Namespaces are unavailable, with the reason, until the first list succeeds", async () => {
  await using all = await cluster(403);
  await eventually(() => JSON.stringify(all.watch.limitOf("team")).includes("not for you"));
  expect(all.watch.limitOf("team")).toMatchObject({ kind: "unavailable" });
});

test("a request waits for everything that one of the watches waits for, and for nothing else", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const nothing = () => undefined;
  expect(allOf(nothing, nothing)(request())).toBeUndefined();
  const settled = vi.fn();
  const pending = allOf(
    nothing,
    () => Promise.resolve(),
    () => promise,
  )(request())?.then(settled);
  await Promise.resolve();
  expect(settled).not.toHaveBeenCalled();
  resolve();
  await pending;
  expect(settled).toHaveBeenCalledOnce();
});
