import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { readInPlaceRestart } from "../../src/api/in-place-restart.ts";
import { readJobSet } from "../../src/api/jobset.ts";
import { DEFAULT_RESTART_POLICY } from "../../src/api/restart-policy.ts";
import { asMap } from "../../src/json/fields.ts";
import { ApiError } from "../../src/kube/api-error.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { Groups } from "../group/groups.ts";
import { AgentAccess } from "./agent-access.ts";
import { AgentEpochs } from "./agent-epochs.ts";
import { FencedWrites, type WritingClient } from "./fenced-writes.ts";
import { createControllerMetrics } from "./metrics.ts";
import { Reconciler } from "./reconcile.ts";

const KEY = "ml/train";
const NOW = Date.UTC(2026, 0, 1);
const { signal } = new AbortController();

/** A group whose InPlaceRestart, version 7, has no status yet. The API server stores the next status as version 8. */
function reconciling(refuses: (request: string) => number | undefined = () => undefined) {
  const sent: { readonly request: string; readonly body: unknown }[] = [];
  const client: WritingClient = {
    request: async (method, path, { body }) => {
      const request = `${method} ${path.replace(/^.*\/namespaces\/ml\//, "")}`;
      sent.push({ request, body });
      const status = refuses(request);
      if (status !== undefined) throw new ApiError({ server: "test", method, path, status, body: "{}" });
      return { metadata: { name: "train", namespace: "ml", uid: "owner", resourceVersion: "8" } };
    },
  };
  const groups = new Groups({ onChange: () => {}, now: () => NOW });
  const identity = { key: KEY, kind: "added" } as const;
  const jobSet = readJobSet({
    metadata: { name: "train", namespace: "ml", uid: "js", resourceVersion: "3" },
    spec: {},
  });
  groups.jobSetChanged({ ...identity, uid: "js", resourceVersion: "3", item: jobSet });
  const metadata = { name: "train", namespace: "ml", uid: "owner", resourceVersion: "7" };
  const object = readInPlaceRestart({ metadata, spec: { jobSetUID: "js" } });
  groups.objectChanged({ ...identity, uid: "owner", resourceVersion: "7", item: object });
  const registry = new Registry();
  const reconciler = new Reconciler({
    groups,
    fencedWrites: new FencedWrites(client),
    access: new AgentAccess(client, () => NOW),
    epochs: new AgentEpochs(client, () => NOW),
    record: () => {},
    metrics: createControllerMetrics(registry),
    policy: DEFAULT_RESTART_POLICY,
    log: createLogger({ level: "error" }),
    now: () => NOW,
  });
  const about = (part: string) => sent.filter(({ request }) => request.includes(part));
  return { reconcile: () => reconciler.reconcile(KEY, signal), about, registry };
}

describe("after a status was written", () => {
  it("agents are told in the same reconcile, in the version that was written", async () => {
    const { reconcile, about } = reconciling();
    await reconcile();
    const writes = [...about("inplacerestarts/"), ...about("groupepochs")];
    expect(writes.map(({ request }) => request)).toEqual([
      "PATCH inplacerestarts/train/status",
      "PATCH groupepochs/js",
    ]);
    const [written, told] = writes.map(({ body }) => asMap(body));
    expect(written).toMatchObject({ status: { deprecatedEpoch: 0, syncedEpoch: 0 } });
    expect(told).toMatchObject({ spec: { version: 8, deprecatedEpoch: 0, syncedEpoch: 0 } });
  });

  it("the decision counts, also if agents cannot be told yet", async () => {
    const { reconcile, registry } = reconciling((request) => (request.includes("groupepochs") ? 503 : undefined));
    await expect(reconcile()).rejects.toThrow("503");
    expect(await registry.metrics()).toMatch(/decisions_total\{[^}]*write[^}]*\} 1/);
  });
});

it("agents are told nothing that was refused", async () => {
  const { reconcile, about } = reconciling((request) => (request.endsWith("/status") ? 409 : undefined));
  await expect(reconcile()).rejects.toThrow("409");
  expect(about("groupepochs")).toEqual([]);
});
