// Assembles the controller: watches feed the groups, changed groups are queued, and the leader reconciles them.
// Replicas that do not lead keep the same view and write nothing.
import { once } from "node:events";
import type { Registry } from "prom-client";
import type { Phase } from "../../src/api/in-place-restart.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import type { InjectionSettings } from "../../src/inject/settings.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { EventRecorder, type Occurrence } from "../../src/kube/events.ts";
import { LeaderElection, type LeaderTiming } from "../../src/kube/leader.ts";
import { Prerequisites } from "../../src/kube/prerequisites.ts";
import { WorkQueue } from "../../src/kube/queue.ts";
import { createHealthServer } from "../../src/process/health.ts";
import { listening, portOf } from "../../src/process/listen.ts";
import type { Logger } from "../../src/telemetry/log.ts";
import { Groups } from "../group/groups.ts";
import type { Account } from "../status/accounts.ts";
import { CONDITION } from "../status/conditions.ts";
import type { StuckPodsSettings } from "../stuck-pods/settings.ts";
import { ObservedSurroundings } from "../stuck-pods/surroundings.ts";
import { AgentAccess } from "./agent-access.ts";
import { AgentEpochs } from "./agent-epochs.ts";
import { FencedWrites, isFenced } from "./fenced-writes.ts";
import { createControllerMetrics } from "./metrics.ts";
import { NotInjected } from "./not-injected.ts";
import { RECONCILE_REST_MS, Reconciler } from "./reconcile.ts";
import { createStuckPodsMetrics } from "./stuck-pods/metrics.ts";
import { FreeingRequests } from "./stuck-pods/requests.ts";
import { Rescue } from "./stuck-pods/rescue.ts";
import { Watches } from "./watches.ts";

interface ControllerOptions {
  readonly client: KubeClient;
  /** Unique among replicas, and different after a restart of the same Pod. */
  readonly identity: string;
  readonly leaderElection: { readonly namespace: string; readonly name: string; readonly timing?: LeaderTiming };
  /** The webhook's settings, to find out what it would have injected. */
  readonly injection: InjectionSettings;
  readonly stuckPods: StuckPodsSettings;
  readonly policy: RestartPolicy;
  /** Address to listen on. All addresses of both families by default. */
  readonly host?: string;
  /** 0 picks a free port. */
  readonly healthPort: number;
  readonly log: Logger;
  readonly registry: Registry;
}

export interface RunningController {
  readonly healthPort: number;
  /** Completes pending writes, releases the lease, and stops. */
  shutdown(): Promise<void>;
}

/** The name in manifests/webhook. */
const WEBHOOK_CONFIGURATION = "reprise-webhook";

/** Requests time out after 65 s, and a reconcile sends at most four in a row: one that takes longer hangs. */
const STUCK_MS = 300_000;

export async function runController(options: ControllerOptions): Promise<RunningController> {
  const { client, log, identity, leaderElection, host = "" } = options;
  const now = Date.now;
  const metrics = createControllerMetrics(options.registry);
  const recorder = new EventRecorder({
    client,
    reportingController: "reprise.dev/controller",
    reportingInstance: identity,
    onError: (error) => log.warn({ err: error }, "failed to record an Event"),
  });
  /** Event, metric and log share one reason. */
  const record = (occurrence: Occurrence) => {
    const { reason, note, regarding, type } = occurrence;
    const { kind, namespace, name } = regarding;
    log[type === "Warning" ? "warn" : "info"]({ reason, kind, namespace, name }, note);
    metrics.notified(reason);
    recorder.record(occurrence);
  };
  const surroundings = new ObservedSurroundings(options.stuckPods, now());
  const groups = new Groups({ onChange: (key) => queue.add(key), now, surroundings });
  const rescue = new Rescue({
    surroundings,
    requests: new FreeingRequests(client),
    record,
    metrics: createStuckPodsMetrics(options.registry, surroundings),
    log,
    now,
  });
  const notInjected = new NotInjected(record);
  const { policy } = options;
  const reconciler = new Reconciler({
    groups,
    fencedWrites: new FencedWrites(client),
    access: new AgentAccess(client, now),
    epochs: new AgentEpochs(client, now),
    record,
    metrics,
    policy,
    log,
    now,
  });

  /** Start times of the reconciles in progress, by group. */
  const reconciling = new Map<string, number>();
  const queue = new WorkQueue({
    restMs: RECONCILE_REST_MS,
    process: async (key) => {
      const { signal } = election;
      if (signal.aborted) return;
      reconciling.set(key, now());
      try {
        const again = await reconciler.reconcile(key, signal);
        if (again !== undefined) queue.addAfter(key, again);
      } catch (error) {
        // Requests are aborted when the lease is lost. The next leader reconciles every group.
        if (!signal.aborted) throw error;
      } finally {
        reconciling.delete(key);
      }
    },
    onError: (key, error, failures) => {
      const isConflict = isFenced(error);
      metrics.reconcileFailed(isConflict ? "conflict" : "error");
      // A conflict means that a watch lags, which resolves itself.
      if (isConflict) log.debug({ group: key, err: error, failures }, "stale cache, retrying");
      else log.error({ group: key, err: error, failures }, "reconcile failed, retrying");
    },
  });
  const watches = new Watches({
    client,
    groups,
    notInjected,
    injection: options.injection,
    onNamespace: ({ kind, key }) => {
      if (!surroundings.observeNamespace(key, kind !== "deleted")) return;
      groups.surroundingsChanged();
      rescue.checkAll();
    },
    onNode: ({ kind, item }) => {
      const { name } = item;
      const changed = kind === "deleted" ? surroundings.forgetNode(name, now()) : surroundings.observeNode(item, now());
      if (!changed) return;
      groups.surroundingsChanged();
      rescue.nodeChanged(name);
    },
    onError: (watched, error, stage) => {
      metrics.watchFailed(watched);
      log.warn({ watched, stage, err: error }, "watch interrupted");
    },
    onRelist: (watched) => {
      metrics.relisted(watched);
      log.info({ watched }, "relisted");
    },
    onReconnect: (watched, reason) => metrics.reconnected(watched, reason),
  });
  const election = new LeaderElection({
    client,
    ...leaderElection,
    identity,
    lead: async (signal) => {
      log.info({ identity, groups: [...groups.keys()].length }, "started leading");
      notInjected.setLeading(true);
      for (const key of groups.keys()) queue.add(key);
      rescue.lead(signal);
      if (!signal.aborted) await once(signal, "abort");
      notInjected.setLeading(false);
      // All writes must have ended before another replica leads.
      await Promise.all([queue.drain(), rescue.drain()]);
      log.info({ identity }, "stopped leading");
    },
    onError: (error) => log.warn({ err: error }, "leader election failed, retrying"),
    onHolder: (holder) => log.info({ holder }, "new leader elected"),
  });
  metrics.read({
    groupsByPhase: () => countPhases(groups),
    stalledGroups: () => countStalled(groups),
    accounts: () => accountsOf(groups),
    notInjected: () => notInjected.count,
    queueDepth: () => queue.depth,
    isLeader: () => election.isLeader(),
    eventsDropped: () => recorder.dropped,
  });

  // Groups are reconciled even if prerequisites are missing. Being unready stops a rollout and says why.
  const prerequisites = new Prerequisites({ client, log, webhookConfiguration: WEBHOOK_CONFIGURATION });
  let ending: Promise<void> | undefined;
  const health = createHealthServer(
    {
      alive: () =>
        [...reconciling]
          .filter(([, since]) => now() - since > STUCK_MS)
          .map(([key, since]) => `reconciling group ${key} has taken ${Math.round((now() - since) / 1_000)} s`),
      ready: () => [
        ...(ending === undefined ? [] : ["shutting down"]),
        ...watches.missing.map((watched) => `waiting for the first list of ${watched}`),
        ...prerequisites.lacks.map(({ message }) => message),
      ],
      role: () => roleOf(election, identity),
    },
    options.registry,
  );
  health.listen({ host, port: options.healthPort });
  await listening("health and metrics", options.healthPort, once(health, "listening"));
  void prerequisites.start();
  // Decisions need the complete view, so a replica without it must not become the leader.
  void watches.start().then(() => {
    log.info({ groups: [...groups.keys()].length }, "caches synced");
    if (ending === undefined) election.start();
  });
  const healthPort = portOf(health);
  log.info({ healthPort, identity }, "controller started");

  return {
    healthPort,
    shutdown() {
      ending ??= end();
      return ending;
    },
  };

  async function end(): Promise<void> {
    log.info("shutting down");
    prerequisites.stop();
    await election.stop();
    await Promise.all([queue.stop(), rescue.stop()]);
    await recorder.stop();
    await watches.stop();
    health.close();
    log.info("controller stopped");
  }
}

/** Tells an operator why a replica is idle. */
function roleOf(election: LeaderElection, identity: string): string {
  if (election.isLeader()) return "leading";
  const { holder } = election;
  if (holder === identity) return "standing by, lost the lease";
  return holder === "" ? "standing by, no leader seen" : `standing by, leader is ${holder}`;
}

function countPhases(groups: Groups): ReadonlyMap<Phase, number> {
  const counts = new Map<Phase, number>();
  for (const { jobSet, object } of groups.values()) {
    if (jobSet === undefined || object === undefined) continue;
    const phase = object.status?.phase ?? "Starting";
    counts.set(phase, (counts.get(phase) ?? 0) + 1);
  }
  return counts;
}

function accountsOf(groups: Groups): readonly Account[] {
  return [...groups.values()].flatMap(({ object }) => {
    const availability = object?.status?.availability;
    return object === undefined || availability === undefined ? [] : [{ uid: object.uid, availability }];
  });
}

function countStalled(groups: Groups): number {
  return [...groups.values()].filter(({ jobSet, object }) => {
    const conditions = jobSet === undefined ? [] : (object?.status?.conditions ?? []);
    return conditions.some(({ type, status }) => type === CONDITION.stalled && status === "True");
  }).length;
}
