// Metrics about stuck Pods. Every series exists from the start: otherwise rate() would miss the first increment.
import { Counter, type Registry } from "prom-client";
import { readGauge } from "../../../src/telemetry/metrics.ts";
import { isUsual, LEAVE_REASONS, type LeaveReason } from "../../stuck-pods/decide.ts";
import type { ObservedSurroundings } from "../../stuck-pods/surroundings.ts";

export interface StuckPodsMetrics {
  freed(): void;
  /** Call once for each Pod and reason. */
  left(reason: LeaveReason): void;
}

export function createStuckPodsMetrics(registry: Registry, around: ObservedSurroundings): StuckPodsMetrics {
  const registers = [registry];
  const freed = new Counter({
    name: "reprise_controller_stuck_pods_freed_total",
    help: "Pods on lost nodes that were marked Failed and forcefully deleted.",
    registers,
  });
  const left = new Counter({
    name: "reprise_controller_stuck_pods_left_total",
    help: "Terminating Pods on unreachable nodes that were left alone, by reason.",
    labelNames: ["reason"] as const,
    registers,
  });
  for (const reason of LEAVE_REASONS) if (!isUsual(reason)) left.labels({ reason }).inc(0);
  readGauge(registry, "reprise_controller_nodes", "Nodes in the cluster.", () => around.nodes);
  readGauge(
    registry,
    "reprise_controller_unreachable_nodes",
    "Nodes that are unreachable.",
    () => around.unreachable.size,
  );
  readGauge(
    registry,
    "reprise_controller_stuck_pods_brake",
    "1 while too many nodes are unreachable to free any Pod, otherwise 0.",
    () => (around.braked ? 1 : 0),
  );
  return { freed: () => freed.inc(), left: (reason) => left.labels({ reason }).inc() };
}
