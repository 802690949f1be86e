import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import type { Availability } from "../../src/api/availability.ts";
import type { InPlaceRestartStatus, RestartRecord } from "../../src/api/in-place-restart.ts";
import { createControllerMetrics } from "./metrics.ts";

function status(...history: RestartRecord[]): InPlaceRestartStatus {
  const epochs = { deprecatedEpoch: 1, syncedEpoch: 2, heldStages: [], restarts: 1 };
  return { ...epochs, phase: "Running", ready: "2/2", history, conditions: [] };
}

const BLAMED: Availability = {
  state: "Running",
  since: "2026-01-01T00:00:00.000Z",
  spent: { Waiting: 0, Running: 0, Restarting: 0, Suspended: 0 },
  restarts: 2,
  lastEpoch: 3,
  causes: [],
  blamedPods: [],
  blamedNodes: [{ name: "node-1", restarts: 2 }],
};

function at(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}

const seen: RestartRecord = {
  cause: { reason: "ContainerExited", pod: "p", container: "main", exitCode: 1 },
  action: "RestartInPlace",
  fromEpoch: 1,
  counted: true,
  failureSeen: at(0),
  deprecated: at(0.25),
};
const synced: RestartRecord = { ...seen, toEpoch: 2, allRestarted: at(2), synced: at(2) };
const running: RestartRecord = { ...synced, allRunning: at(3) };

async function sampleOf(registry: Registry, name: string, labels: Readonly<Record<string, string>>) {
  const metric = await registry.getSingleMetric(name.replace(/_(sum|count)$/, ""))?.get();
  return metric?.values.find(
    (value) =>
      (!("metricName" in value) || value.metricName === name || metric.name === name) &&
      Object.entries(labels).every(([key, expected]) => Reflect.get(value.labels, key) === expected),
  )?.value;
}

describe("controller metrics", () => {
  it("count a restart once, when it reaches its epoch", async () => {
    const registry = new Registry();
    const metrics = createControllerMetrics(registry);
    const labels = { cause: "ContainerExited", counted: "true" };
    const restarts = () => sampleOf(registry, "reprise_controller_restarts_total", labels);
    metrics.written(status(), status(seen));
    expect(await restarts()).toBe(0);
    metrics.written(status(seen), status(synced));
    expect(await restarts()).toBe(1);
    metrics.written(status(synced), status(running));
    metrics.written(status(running), status(running));
    expect(await restarts()).toBe(1);
    metrics.written(status(running), status(running, { ...synced, fromEpoch: 2, toEpoch: 3 }));
    expect(await restarts()).toBe(2);
  });

  it("count an escalation once, when it is decided", async () => {
    const registry = new Registry();
    const metrics = createControllerMetrics(registry);
    const count = (action: string) => sampleOf(registry, "reprise_controller_escalations_total", { action });
    const moved: RestartRecord = { ...seen, action: "RecreatePod" };
    metrics.written(status(), status(moved));
    metrics.written(status(moved), status({ ...moved, toEpoch: 2, synced: at(2) }));
    expect([await count("RecreatePod"), await count("RecreateJobSet")]).toEqual([1, 0]);
    metrics.written(status(seen), status({ ...seen, action: "RecreateJobSet" }));
    expect(await count("RecreateJobSet")).toBe(1);
  });

  it("record the duration of each part of a recovery when all workers run", async () => {
    const registry = new Registry();
    const metrics = createControllerMetrics(registry);
    metrics.written(status(seen), status(synced));
    const name = "reprise_controller_recovery_seconds";
    expect(await sampleOf(registry, `${name}_count`, { part: "total" })).toBe(0);
    metrics.written(status(synced), status(running));
    for (const [part, seconds] of Object.entries({ deprecate: 0.25, restart: 1.75, sync: 0, run: 1, total: 3 })) {
      expect(await sampleOf(registry, `${name}_sum`, { part })).toBe(seconds);
      expect(await sampleOf(registry, `${name}_count`, { part })).toBe(1);
    }
    metrics.written(status(running), { ...status(running), ready: "1/2" });
    expect(await sampleOf(registry, `${name}_count`, { part: "total" })).toBe(1);
  });

  it("exist from the start with a value", async () => {
    const registry = new Registry();
    const metrics = createControllerMetrics(registry);
    metrics.read({
      groupsByPhase: () => new Map([["Running", 2]]),
      stalledGroups: () => 1,
      accounts: () => [{ uid: "a", availability: BLAMED }],
      notInjected: () => 3,
      queueDepth: () => 4,
      isLeader: () => true,
      eventsDropped: () => 5,
    });
    const text = await registry.metrics();
    for (const line of [
      'reprise_controller_decisions_total{kind="fail"} 0',
      'reprise_controller_groups{phase="Running"} 2',
      'reprise_controller_groups{phase="Failed"} 0',
      "reprise_controller_stalled_groups 1",
      'reprise_controller_group_seconds_total{state="Suspended"} 0',
      'reprise_controller_blamed_restarts{node="node-1"} 2',
      "reprise_controller_not_injected 3",
      "reprise_controller_queue_depth 4",
      "reprise_controller_leader 1",
      "reprise_controller_events_dropped_total 5",
      'reprise_controller_relists_total{resource="pods"} 0',
      'reprise_controller_watch_errors_total{resource="plain-jobsets"} 0',
      'reprise_controller_watch_reconnects_total{resource="pods",reason="ended"} 0',
      'reprise_controller_reconcile_failures_total{cause="conflict"} 0',
    ]) {
      expect(text.split("\n")).toContain(line);
    }
  });
});
