// The watch behind named failure policies, with a server that sends events when a test says so.
import { pino } from "pino";
import { afterEach, expect, test, vi } from "vitest";
import { eventually } from "../../test/eventually.ts";
import type { JsonObject } from "../json/types.ts";
import { watchedCollection } from "../kube/testing/watched-collection.ts";
import { PolicyWatch } from "./policy-watch.ts";
import type { AdmissionRequest } from "./review.ts";

afterEach(() => {
  vi.useRealTimers();
});

const SELECTED = "fieldSelector=metadata.name%3Dreprise-failure-policies";

function configMap(namespace: string, data: Readonly<Record<string, string>>): JsonObject {
  return { metadata: { namespace, name: "reprise-failure-policies", uid: namespace, resourceVersion: "5" }, data };
}

function request(name: string, more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const object = { metadata: { annotations: { "reprise.dev/failure-policy": name } } };
  const asked = { uid: "u", operation: "CREATE", namespace: "team", name: "train", dryRun: false } as const;
  return { ...asked, object, oldObject: undefined, ...more };
}

/** A cluster in which namespace "old" has a policy from the start. */
function cluster(status = 200) {
  const items = [configMap("old", { known: "failExitCodes: 7" })];
  return watchedCollection(
    { items, status },
    (client) => new PolicyWatch({ client, log: pino({ level: "silent" }), configured: new Set(["everywhere"]) }),
  );
}

test("the watch selects the ConfigMaps of one name, in all namespaces", async () => {
  await using all = await cluster();
  expect(all.server.requests).toEqual([
    `GET /api/v1/configmaps?${SELECTED}&limit=500`,
    expect.stringContaining(`GET /api/v1/configmaps?${SELECTED}&watch=true`),
  ]);
  expect(all.watch.policiesOf("old")).toEqual({ kind: "known", texts: new Map([["known", "failExitCodes: 7"]]) });
  expect(all.watch.policiesOf("team")).toEqual({ kind: "known", texts: new Map() });
});

test.each([
  ["that names no policy", request("x", { object: { metadata: {} } })],
  ["that names a policy of its namespace", request("known", { namespace: "old" })],
  ["that names a policy of the config file", request("everywhere")],
  ["about a live JobSet", request("x", { operation: "UPDATE" })],
])("a request %s does not wait", async (_what, asked) => {
  await using all = await cluster();
  expect(all.watch.pending(asked)).toBeUndefined();
});

test("a request waits for an unknown policy until its namespace defines it", async () => {
  await using all = await cluster();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const settled = vi.fn();
  const pending = all.watch.pending(request("late"))?.then(settled);
  all.appears(configMap("elsewhere", { late: "failExitCodes: 1" }));
  await eventually(() => expect(textsOf(all.watch, "elsewhere")).toHaveProperty("size", 1));
  expect(settled).not.toHaveBeenCalled();
  all.appears(configMap("team", { late: "failExitCodes: 8" }));
  await pending;
  expect(textsOf(all.watch, "team")).toEqual(new Map([["late", "failExitCodes: 8"]]));
});

test("a request for a policy that no namespace defines continues after half a second", async () => {
  await using all = await cluster();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const settled = vi.fn();
  const pending = all.watch.pending(request("undefined"))?.then(settled);
  await vi.advanceTimersByTimeAsync(499);
  expect(settled).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await pending;
});

function textsOf(watch: PolicyWatch, namespace: string): ReadonlyMap<string, string> {
  const policies = watch.policiesOf(namespace);
  if (policies.kind !== "known") throw new Error(policies.reason);
  return policies.texts;
}

test("policies are unavailable, with the reason, until the first list succeeds", async () => {
  await using all = await cluster(403);
  await eventually(() => JSON.stringify(all.watch.policiesOf("team")).includes("not for you"));
  await all.watch.pending(request("everywhere"));
  expect(all.watch.policiesOf("team")).toEqual({
    kind: "unavailable",
    reason: expect.stringMatching(
      /^the webhook has not read the policies of namespaces yet \(.*not for you.*\); retry/,
    ),
  });
});
