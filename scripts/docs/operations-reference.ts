// Writes the tables of metrics and Events in docs/operations.md from what the programs register and record.
import { Registry } from "prom-client";
import { createControllerMetrics } from "../../controller/shell/metrics.ts";
import { createStuckPodsMetrics } from "../../controller/shell/stuck-pods/metrics.ts";
import { EVENT_TEXTS } from "../../controller/status/event-reasons.ts";
import { ObservedSurroundings } from "../../controller/stuck-pods/surroundings.ts";
import { defaultConfig } from "../../src/config/config.ts";
import { createWebhookMetrics } from "../../src/webhook/metrics.ts";
import { markdownTable, withGenerated } from "./generated-part.ts";

/** The page with its tables updated. */
export async function withOperations(page: string): Promise<string> {
  const { webhook, controller } = programMetrics(() => new Registry());
  const withWebhook = withGenerated(page, "webhook metrics", await metricsTable(webhook));
  const withBoth = withGenerated(withWebhook, "controller metrics", await metricsTable(controller));
  return withGenerated(withBoth, "events", eventsTable());
}

/** The metrics that each program registers, in registries that `create` returns. */
export function programMetrics(create: () => Registry): { readonly webhook: Registry; readonly controller: Registry } {
  const [webhook, controller] = [create(), create()];
  createWebhookMetrics(webhook);
  registerController(controller);
  return { webhook, controller };
}

/** Like controller/shell/run.ts, with nothing to read yet. */
function registerController(registry: Registry): void {
  createControllerMetrics(registry).read({
    groupsByPhase: () => new Map(),
    stalledGroups: () => 0,
    accounts: () => [],
    notInjected: () => 0,
    queueDepth: () => 0,
    isLeader: () => false,
    eventsDropped: () => 0,
  });
  createStuckPodsMetrics(registry, new ObservedSurroundings(defaultConfig.stuckPods, 0));
}

async function metricsTable(registry: Registry): Promise<string> {
  const metrics = await registry.getMetricsAsJSON();
  const rows = metrics.map(({ name, help, type, values }) => [
    `\`${name}\``,
    String(type),
    labelsOf(values.map(({ labels }) => labels)),
    help,
  ]);
  return markdownTable(["metric", "type", "labels", "what it tells"], rows);
}

/** All series exist from the start, so their labels are complete. */
function labelsOf(series: readonly Readonly<Partial<Record<string, string | number>>>[]): string {
  const values = new Map<string, Set<string>>();
  for (const labels of series) {
    for (const [label, value] of Object.entries(labels)) {
      // Buckets of a histogram are not labels to select by.
      if (label === "le" || value === undefined || value === "") continue;
      values.set(label, (values.get(label) ?? new Set()).add(`\`${value}\``));
    }
  }
  return [...values].map(([label, known]) => `${label}: ${[...known].join(" ")}`).join("; ");
}

function eventsTable(): string {
  const rows = Object.entries(EVENT_TEXTS).map(([reason, { on, type, meaning }]) => [
    `\`${reason}\``,
    on,
    type,
    meaning,
  ]);
  return markdownTable(["reason", "on", "type", "what it tells"], rows);
}
