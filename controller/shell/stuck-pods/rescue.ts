// Frees Pods that are stuck on unreachable nodes. Only the leader acts. No request is sent while every node is
// reachable; the Pods of a lost node are listed periodically until the node is back.
import { formatDuration } from "../../../src/api/duration.ts";
import { FAILURE_RECOVERY } from "../../../src/api/names.ts";
import { ApiError, hasStatus } from "../../../src/kube/api-error.ts";
import type { Occurrence } from "../../../src/kube/events.ts";
import { WorkQueue } from "../../../src/kube/queue.ts";
import type { Logger } from "../../../src/telemetry/log.ts";
import type { EventReason } from "../../status/event-reasons.ts";
import { isUsual, judgeStuckPod, type StuckVerdict } from "../../stuck-pods/decide.ts";
import { explainVerdict } from "../../stuck-pods/explain.ts";
import type { Surroundings } from "../../stuck-pods/surroundings.ts";
import type { StuckPodsMetrics } from "./metrics.ts";
import type { ConsentingPod, FreeingRequests } from "./requests.ts";

interface RescueOptions {
  readonly surroundings: Surroundings;
  readonly requests: FreeingRequests;
  readonly record: (occurrence: Occurrence) => void;
  readonly metrics: StuckPodsMetrics;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * A terminating Pod is freed one threshold after it was found at the earliest, so a period of up to the threshold
 * delays nothing. At the longest period, 1,000 lost nodes cost 33 small lists a second, and a new annotation is seen 30
 * s late.
 */
const LONGEST_PERIOD_MS = 30_000;
const SHORTEST_PERIOD_MS = 1_000;

const NEVER = AbortSignal.abort();

export class Rescue {
  readonly #options: RescueOptions;
  readonly #queue: WorkQueue;
  readonly #period: number;
  /** The last logged verdict of each Pod, by node and UID. */
  readonly #logged = new Map<string, ReadonlyMap<string, string>>();
  #term: AbortSignal = NEVER;
  #isBraked = false;

  constructor(options: RescueOptions) {
    this.#options = options;
    const { threshold } = options.surroundings.settings;
    this.#period = Math.min(LONGEST_PERIOD_MS, Math.max(SHORTEST_PERIOD_MS, threshold));
    this.#queue = new WorkQueue({
      process: (node) => this.#checkNode(node),
      onError: (node, error, failures) => {
        const isConflict = error instanceof ApiError && error.status === 409;
        if (isConflict) options.log.debug({ node, err: error, failures }, "Pod changed since it was read, retrying");
        else options.log.error({ node, err: error, failures }, "failed to free stuck Pods, retrying");
      },
    });
  }

  /** Acts until the signal is aborted. */
  lead(signal: AbortSignal): void {
    this.#term = signal;
    this.checkAll();
  }

  /** Checks every lost node, for example after a namespace opted in or out. */
  checkAll(): void {
    this.#logBrake();
    for (const node of this.#options.surroundings.unreachable.keys()) this.#queueNode(node);
  }

  nodeChanged(node: string): void {
    // When the brake is released, Pods of other nodes may be due.
    if (this.#options.surroundings.braked !== this.#isBraked) this.checkAll();
    this.#queueNode(node);
  }

  /** Resolves when all writes have ended. */
  drain(): Promise<void> {
    return this.#queue.drain();
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  #queueNode(node: string): void {
    if (!this.#term.aborted) this.#queue.add(node);
  }

  #logBrake(): void {
    const { surroundings, log } = this.#options;
    const { braked, unreachable, settings } = surroundings;
    if (braked === this.#isBraked || this.#term.aborted) return;
    this.#isBraked = braked;
    const nodes = { unreachable: unreachable.size, brake: settings.brake };
    if (braked)
      log.warn(nodes, "too many nodes are unreachable, not freeing Pods: the control plane may be partitioned");
    else log.info(nodes, "enough nodes are reachable, freeing stuck Pods again");
  }

  async #checkNode(node: string): Promise<void> {
    const { surroundings, requests, now } = this.#options;
    const signal = this.#term;
    if (signal.aborted || !surroundings.settings.enabled) return;
    if (!surroundings.unreachable.has(node)) {
      this.#logged.delete(node);
      return;
    }
    // During a partition, spare the API server. The conditions of the groups say what they wait for.
    if (surroundings.braked) return;
    try {
      const pods = await requests.podsOn(node, signal);
      const verdicts = pods.map((pod) => ({ pod, verdict: judgeStuckPod(pod, surroundings, now()) }));
      this.#logVerdicts(node, verdicts);
      const due = verdicts.filter(({ verdict }) => verdict.kind === "free").map(({ pod }) => pod);
      if (due.length > 0) await this.#freeAll(node, due, signal);
      const waits = verdicts.flatMap(({ verdict }) => (verdict.kind === "wait" ? verdict.until - now() : []));
      this.#queue.addAfter(node, Math.min(this.#period, ...waits.map((wait) => Math.max(wait, 0))));
    } catch (error) {
      // Requests are aborted when the lease is lost. The next leader checks every lost node.
      if (!signal.aborted) throw error;
    }
  }

  async #freeAll(node: string, pods: readonly ConsentingPod[], signal: AbortSignal): Promise<void> {
    const { surroundings, requests, now } = this.#options;
    // Freeing cannot be undone and the watch may lag, so read the node first.
    const fresh = await requests.node(node, signal);
    if (fresh?.unreachable === undefined) return;
    const unreachable = new Map([[node, fresh.unreachable]]);
    const failures: unknown[] = [];
    for (const pod of pods) {
      const { settings, optedIn, braked, settledAt } = surroundings;
      // Judge each Pod again: writes take time, and the brake may have engaged since.
      const verdict = judgeStuckPod(pod, { settings, optedIn, braked, settledAt, unreachable }, now());
      if (verdict.kind !== "free") continue;
      try {
        await this.#free(pod, verdict.marked, signal);
      } catch (error) {
        // One failure must not keep the other Pods stuck.
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Marks the Pod first, so that after a crash the next leader knows to delete it. */
  async #free(pod: ConsentingPod, marked: boolean, signal: AbortSignal): Promise<void> {
    const { requests, record, metrics, log, now } = this.#options;
    const { namespace, name, uid, node } = pod;
    const message = this.#messageFor(pod);
    if (!marked) {
      try {
        await requests.mark(pod, message, now(), signal);
      } catch (error) {
        // Already gone.
        if (hasStatus(error, 404)) return;
        throw error;
      }
    }
    record({
      regarding: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
      type: "Warning",
      reason: FAILURE_RECOVERY.reason satisfies EventReason,
      action: "ForceDelete",
      note: message,
    });
    await requests.delete(pod, signal);
    metrics.freed();
    log.warn({ namespace, pod: name, uid, node, consent: pod.consent }, "stuck Pod freed");
  }

  #messageFor({ node, deletion, consent }: ConsentingPod): string {
    const { settings, unreachable } = this.#options.surroundings;
    const since = unreachable.get(node ?? "")?.since;
    const grace = formatDuration((deletion?.graceSeconds ?? 0) * 1_000);
    const unreachableNode = `node ${node} is unreachable${since === undefined ? "" : ` since ${since}`}`;
    return (
      `forcefully deleted ${formatDuration(settings.threshold)} after its grace period of ${grace}, ` +
      `because ${unreachableNode} and the annotation ${consent} allows it; ` +
      "its containers may still run there until the node is back or shut down"
    );
  }

  /** Logs and counts each verdict once. */
  #logVerdicts(
    node: string,
    verdicts: readonly { readonly pod: ConsentingPod; readonly verdict: StuckVerdict }[],
  ): void {
    const { metrics, log } = this.#options;
    const before = this.#logged.get(node);
    const logged = new Map<string, string>();
    for (const { pod, verdict } of verdicts) {
      if (verdict.kind === "leave" && isUsual(verdict.reason)) continue;
      const text = verdict.kind === "leave" ? verdict.reason : verdict.kind;
      logged.set(pod.uid, text);
      if (before?.get(pod.uid) === text) continue;
      if (verdict.kind === "leave") metrics.left(verdict.reason);
      const { namespace, name, uid } = pod;
      log.info({ namespace, pod: name, uid, node, verdict: text }, `stuck Pod: ${explainVerdict(verdict, pod)}`);
    }
    this.#logged.set(node, logged);
  }
}
