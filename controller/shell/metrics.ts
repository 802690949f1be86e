// The controller's metrics. Label values come from fixed lists, and every series exists from the start: otherwise
// rate() would miss the first increment.
import { Counter, Gauge, type Registry } from "prom-client";
import { TIMED_STATES } from "../../src/api/availability.ts";
import {
  type InPlaceRestartStatus,
  PHASES,
  type Phase,
  RESTART_ACTIONS,
  RESTART_REASONS,
  type RestartSteps,
} from "../../src/api/in-place-restart.ts";
import { RECONNECT_REASONS, type ReconnectReason } from "../../src/kube/reflector.ts";
import { latencyHistogram, readCounter, readGauge } from "../../src/telemetry/metrics.ts";
import type { Decision } from "../decide.ts";
import { type Account, blamedNodes, timeSince } from "../status/accounts.ts";
import { EVENT_TEXTS } from "../status/event-reasons.ts";

/** The watched collections, as metrics and logs name them. */
const WATCHED = ["jobsets", "jobs", "pods", "inplacerestarts", "namespaces", "nodes", "plain-jobsets"] as const;
export type Watched = (typeof WATCHED)[number];

/** Values that are read on each scrape. */
interface Readings {
  readonly groupsByPhase: () => ReadonlyMap<Phase, number>;
  readonly stalledGroups: () => number;
  readonly accounts: () => readonly Account[];
  readonly notInjected: () => number;
  readonly queueDepth: () => number;
  readonly isLeader: () => boolean;
  readonly eventsDropped: () => number;
}

export interface ControllerMetrics {
  decided(kind: Decision["kind"]): void;
  /** An Event with this reason was sent to the recorder. */
  notified(reason: string): void;
  /** A status was written. */
  written(before: InPlaceRestartStatus | undefined, after: InPlaceRestartStatus): void;
  /** `conflict`: the cache was stale, which the next attempt resolves. */
  reconcileFailed(cause: "conflict" | "error"): void;
  relisted(watched: Watched): void;
  watchFailed(watched: Watched): void;
  reconnected(watched: Watched, reason: ReconnectReason): void;
  /** Registers the values that are read on each scrape. Call once. */
  read(readings: Readings): void;
}

const DECISIONS: Readonly<Record<Decision["kind"], true>> = {
  create: true,
  delete: true,
  write: true,
  fail: true,
  "delete-pod": true,
  "fail-job": true,
};

const ESCALATIONS = RESTART_ACTIONS.filter((action) => action !== "RestartInPlace");

/** The parts of a recovery, each from one step to the next, and the total. */
const PARTS: readonly { readonly part: string; readonly from: keyof RestartSteps; readonly to: keyof RestartSteps }[] =
  [
    { part: "deprecate", from: "failureSeen", to: "deprecated" },
    { part: "restart", from: "deprecated", to: "allRestarted" },
    { part: "sync", from: "allRestarted", to: "synced" },
    { part: "run", from: "synced", to: "allRunning" },
    { part: "total", from: "failureSeen", to: "allRunning" },
  ];

export function createControllerMetrics(registry: Registry): ControllerMetrics {
  const registers = [registry];
  const decisions = new Counter({
    name: "reprise_controller_decisions_total",
    help: "Decisions executed, by kind.",
    labelNames: ["kind"] as const,
    registers,
  });
  const restarts = new Counter({
    name: "reprise_controller_restarts_total",
    help: "Group restarts that reached the next epoch, by cause and by whether they count towards the budget.",
    labelNames: ["cause", "counted"] as const,
    registers,
  });
  const notices = new Counter({
    name: "reprise_controller_events_total",
    help: "Events about JobSets and Pods, by reason.",
    labelNames: ["reason"] as const,
    registers,
  });
  const escalations = new Counter({
    name: "reprise_controller_escalations_total",
    help: "Failures that led to more than a restart in place, by action.",
    labelNames: ["action"] as const,
    registers,
  });
  const recovery = latencyHistogram(registry, {
    name: "reprise_controller_recovery_seconds",
    help: "Duration of each part of a group restart, from the detected failure until all workers run.",
    labelNames: ["part"],
  });
  const failures = new Counter({
    name: "reprise_controller_reconcile_failures_total",
    help: "Failed reconciles, by cause: conflict (a stale cache) or error. Each is retried.",
    labelNames: ["cause"] as const,
    registers,
  });
  const relists = new Counter({
    name: "reprise_controller_relists_total",
    help: "Full lists after a watch expired, by resource.",
    labelNames: ["resource"] as const,
    registers,
  });
  const watchErrors = new Counter({
    name: "reprise_controller_watch_errors_total",
    help: "Failed list and watch requests, by resource.",
    labelNames: ["resource"] as const,
    registers,
  });
  const reconnects = new Counter({
    name: "reprise_controller_watch_reconnects_total",
    help: "Watches opened again, by resource and reason: ended (by the server), idle, expired (after a list) or error.",
    labelNames: ["resource", "reason"] as const,
    registers,
  });
  for (const kind of Object.keys(DECISIONS)) decisions.labels({ kind }).inc(0);
  for (const cause of RESTART_REASONS) {
    for (const counted of ["true", "false"]) restarts.labels({ cause, counted }).inc(0);
  }
  for (const reason of Object.keys(EVENT_TEXTS)) notices.labels({ reason }).inc(0);
  for (const action of ESCALATIONS) escalations.labels({ action }).inc(0);
  for (const { part } of PARTS) recovery.zero({ part });
  for (const cause of ["conflict", "error"]) failures.labels({ cause }).inc(0);
  for (const resource of WATCHED) {
    for (const counter of [relists, watchErrors]) counter.labels({ resource }).inc(0);
    for (const reason of RECONNECT_REASONS) reconnects.labels({ resource, reason }).inc(0);
  }

  return {
    decided: (kind) => decisions.labels({ kind }).inc(),
    notified: (reason) => notices.labels({ reason }).inc(),
    written(before, after) {
      const [was, is] = [before?.history.at(-1), after.history.at(-1)];
      if (is === undefined) return;
      const isSame = was?.fromEpoch === is.fromEpoch;
      const { action } = is;
      if (action !== "RestartInPlace" && !(isSame && was?.action === action)) escalations.labels({ action }).inc();
      if (is.synced !== undefined && !(isSame && was?.synced !== undefined)) {
        restarts.labels({ cause: is.cause.reason, counted: String(is.counted) }).inc();
      }
      if (is.allRunning === undefined || (isSame && was?.allRunning !== undefined)) return;
      for (const { part, from, to } of PARTS) {
        const seconds = (Date.parse(is[to] ?? "") - Date.parse(is[from] ?? "")) / 1_000;
        if (seconds >= 0) recovery.labels({ part }).observe(seconds);
      }
    },
    reconcileFailed: (cause) => failures.labels({ cause }).inc(),
    relisted: (resource) => relists.labels({ resource }).inc(),
    watchFailed: (resource) => watchErrors.labels({ resource }).inc(),
    reconnected: (resource, reason) => reconnects.labels({ resource, reason }).inc(),
    read: (readings) => registerReadings(registry, readings),
  };
}

function registerReadings(registry: Registry, readings: Readings): void {
  readGauge(
    registry,
    "reprise_controller_not_injected",
    "JobSets that are opted in but were created without injection.",
    readings.notInjected,
  );
  readGauge(
    registry,
    "reprise_controller_stalled_groups",
    "Groups that have waited for Pods for more than a minute, at the barrier or for a stage.",
    readings.stalledGroups,
  );
  readGauge(registry, "reprise_controller_queue_depth", "Groups waiting to be reconciled.", readings.queueDepth);
  readGauge(registry, "reprise_controller_leader", "1 if this replica is the leader, otherwise 0.", () =>
    readings.isLeader() ? 1 : 0,
  );
  readCounter(
    registry,
    "reprise_controller_events_dropped_total",
    "Events dropped before they were recorded.",
    readings.eventsDropped,
  );
  new Gauge({
    name: "reprise_controller_groups",
    help: "Groups, by phase.",
    labelNames: ["phase"] as const,
    registers: [registry],
    collect() {
      const counts = readings.groupsByPhase();
      for (const phase of PHASES) this.labels({ phase }).set(counts.get(phase) ?? 0);
    },
  });
  registerAccounts(registry, readings.accounts);
}

function registerAccounts(registry: Registry, accounts: Readings["accounts"]): void {
  let known: ReturnType<typeof timeSince>["known"] = new Map();
  const time = new Counter({
    name: "reprise_controller_group_seconds_total",
    help: "Time that groups have spent in each state, added up. Every replica counts all groups.",
    labelNames: ["state"] as const,
    registers: [registry],
    collect() {
      const since = timeSince(known, accounts(), Date.now());
      known = since.known;
      for (const state of TIMED_STATES) this.labels({ state }).inc(since.spent[state] / 1_000);
    },
  });
  for (const state of TIMED_STATES) time.labels({ state }).inc(0);
  new Gauge({
    name: "reprise_controller_blamed_restarts",
    help: "Restarts of the groups that exist, by the node of the blamed Pod. The ten nodes with the most restarts.",
    labelNames: ["node"] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const [node, restarts] of blamedNodes(accounts())) this.labels({ node }).set(restarts);
    },
  });
}
