// Puts the controller together: watches feed groups, changed groups are queued, and the leader looks at each and carries out
// what is decided. Replicas that do not lead know the same and write nothing.
import { once } from "node:events";
import type { Registry } from "prom-client";
import type { Phase } from "../../src/api/in-place-restart.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import type { InjectionSettings } from "../../src/inject/settings.ts";
import { ApiError } from "../../src/kube/api-error.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { EventRecorder, type Occurrence } from "../../src/kube/events.ts";
import { LeaderElection, type LeaderTiming } from "../../src/kube/leader.ts";
import { Prerequisites } from "../../src/kube/prerequisites.ts";
import { WorkQueue } from "../../src/kube/queue.ts";
import { createHealthServer } from "../../src/process/health.ts";
import { listening, portOf } from "../../src/process/listen.ts";
import type { Logger } from "../../src/telemetry/log.ts";
import { Groups } from "../group/groups.ts";
import type { StuckPodsSettings } from "../stuck-pods/settings.ts";
import { ObservedSurroundings } from "../stuck-pods/surroundings.ts";
import { AgentAccess } from "./agent-access.ts";
import { FencedWrites } from "./fenced-writes.ts";
import { createControllerMetrics } from "./metrics.ts";
import { NotInjected } from "./not-injected.ts";
import { Reconciler } from "./reconcile.ts";
import { createStuckPodsMetrics } from "./stuck-pods/metrics.ts";
import { FreeingRequests } from "./stuck-pods/requests.ts";
import { Rescue } from "./stuck-pods/rescue.ts";
import { Watches } from "./watches.ts";

export interface ControllerOptions {
  readonly client: KubeClient;
  /** Unique among the replicas, also across restarts of the same Pod. */
  readonly identity: string;
  readonly leaderElection: { readonly namespace: string; readonly name: string; readonly timing?: LeaderTiming };
  /** The webhook's settings, to know what it would have injected. */
  readonly injection: InjectionSettings;
  readonly stuckPods: StuckPodsSettings;
  readonly policy: RestartPolicy;
  /** Address to listen on; all of them, of both families, when left out. */
  readonly host?: string;
  /** 0 picks a free one. */
  readonly healthPort: number;
  readonly log: Logger;
  readonly registry: Registry;
}

export interface RunningController {
  readonly healthPort: number;
  /** Ends what is being written, gives the lead to another replica, and stops. */
  shutdown(): Promise<void>;
}

/** As manifests/webhook names it. */
const WEBHOOK_CONFIGURATION = "reprise-webhook";

/** Requests give up after 65 s, and a look at a group makes three of them at most: one that takes longer never ends. */
const STUCK_MS = 240_000;

export async function runController(options: ControllerOptions): Promise<RunningController> {
  const { client, log, identity, leaderElection, host = "" } = options;
  const now = Date.now;
  const metrics = createControllerMetrics(options.registry);
  const recorder = new EventRecorder({
    client,
    reportingController: "reprise.dev/controller",
    reportingInstance: identity,
    onError: (error) => log.warn({ err: error }, "an Event could not be recorded"),
  });
  /** Whatever is told has one name: in the Event, the metric and the log. */
  const record = (occurrence: Occurrence) => {
    const { reason, note, regarding, type } = occurrence;
    const { kind, namespace, name } = regarding;
    log[type === "Warning" ? "warn" : "info"]({ reason, kind, namespace, name }, note);
    metrics.told(reason);
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
  const access = new AgentAccess(client, now);
  const { policy } = options;
  const reconciler = new Reconciler({
    groups,
    fencedWrites: new FencedWrites(client),
    access,
    record,
    metrics,
    policy,
    log,
    now,
  });

  /** Since when each group is being looked at. */
  const looking = new Map<string, number>();
  const queue = new WorkQueue({
    process: async (key) => {
      const { signal } = election;
      if (signal.aborted) return;
      looking.set(key, now());
      try {
        const again = await reconciler.reconcile(key, signal);
        if (again !== undefined) queue.addAfter(key, again);
      } catch (error) {
        // The end of a term ends its requests; the next leader looks at every group.
        if (!signal.aborted) throw error;
      } finally {
        looking.delete(key);
      }
    },
    onError: (key, error, failures) => {
      const isConflict = error instanceof ApiError && (error.status === 409 || error.status === 404);
      metrics.reconcileFailed(isConflict ? "conflict" : "error");
      // A conflict says that a watch is behind, which it mends by itself.
      if (isConflict) log.debug({ group: key, err: error, failures }, "decided on an old view, looking again");
      else log.error({ group: key, err: error, failures }, "group could not be brought forward, trying again");
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
      rescue.lookEverywhere();
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
      log.info({ watched }, "listed again");
    },
  });
  const election = new LeaderElection({
    client,
    ...leaderElection,
    identity,
    lead: async (signal) => {
      log.info({ identity, groups: [...groups.keys()].length }, "leading");
      notInjected.tell(true);
      for (const key of groups.keys()) queue.add(key);
      rescue.lead(signal);
      if (!signal.aborted) await once(signal, "abort");
      notInjected.tell(false);
      // Nothing may be written when another replica leads.
      await Promise.all([queue.drain(), rescue.drain()]);
      log.info({ identity }, "no longer leading");
    },
    onError: (error) => log.warn({ err: error }, "leader election"),
    onHolder: (holder) => log.info({ holder }, "leader seen"),
  });
  metrics.read({
    groupsByPhase: () => countPhases(groups),
    notInjected: () => notInjected.count,
    queueDepth: () => queue.depth,
    isLeader: () => election.isLeader(),
    eventsDropped: () => recorder.dropped,
  });

  // Groups that run are looked after all the same; being unready stops a rollout and tells why.
  const prerequisites = new Prerequisites({ client, log, webhookConfiguration: WEBHOOK_CONFIGURATION });
  let ending: Promise<void> | undefined;
  const health = createHealthServer(
    {
      alive: () =>
        [...looking]
          .filter(([, since]) => now() - since > STUCK_MS)
          .map(([key, since]) => `group ${key} has been looked at for ${Math.round((now() - since) / 1_000)} s`),
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
  // Decisions need the whole view, and nobody is served by a leader without one.
  void watches.start().then(() => {
    log.info({ groups: [...groups.keys()].length }, "every watch has its first list");
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

/** For whoever asks a replica why it does nothing. */
function roleOf(election: LeaderElection, identity: string): string {
  if (election.isLeader()) return "leading";
  const { holder } = election;
  if (holder === identity) return "standing by, lost the lead";
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
