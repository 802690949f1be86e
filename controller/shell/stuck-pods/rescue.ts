// Looks after the Pods of unreachable nodes and frees those that are stuck. Nothing is asked of the API server while every node is
// reachable: only when one is lost are its Pods listed, by node, now and then, until it is back. Only the leader looks.
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

export interface RescueOptions {
  readonly surroundings: Surroundings;
  readonly requests: FreeingRequests;
  readonly record: (occurrence: Occurrence) => void;
  readonly metrics: StuckPodsMetrics;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * A Pod is found terminating within one period, and freed a threshold after that at the earliest, so a period of up to the threshold
 * delays nothing. 1,000 lost nodes are 33 small lists a second then. Annotations written meanwhile are seen as late as that.
 */
const LONGEST_PERIOD_MS = 30_000;
const SHORTEST_PERIOD_MS = 1_000;

const NEVER = AbortSignal.abort();

export class Rescue {
  readonly #options: RescueOptions;
  readonly #queue: WorkQueue;
  readonly #period: number;
  /** What was told of each Pod, by node and UID. */
  readonly #told = new Map<string, ReadonlyMap<string, string>>();
  #term: AbortSignal = NEVER;
  #isBraked = false;

  constructor(options: RescueOptions) {
    this.#options = options;
    const { threshold } = options.surroundings.settings;
    this.#period = Math.min(LONGEST_PERIOD_MS, Math.max(SHORTEST_PERIOD_MS, threshold));
    this.#queue = new WorkQueue({
      process: (node) => this.#look(node),
      onError: (node, error, failures) => {
        const isConflict = error instanceof ApiError && error.status === 409;
        if (isConflict) options.log.debug({ node, err: error, failures }, "a Pod changed meanwhile, looking again");
        else options.log.error({ node, err: error, failures }, "stuck Pods could not be freed, trying again");
      },
    });
  }

  /** Looks after lost nodes until the signal ends. */
  lead(signal: AbortSignal): void {
    this.#term = signal;
    this.lookEverywhere();
  }

  /** Namespaces were opted in or out, or much else changed. */
  lookEverywhere(): void {
    this.#sayBrake();
    for (const node of this.#options.surroundings.unreachable.keys()) this.#lookSoon(node);
  }

  nodeChanged(node: string): void {
    // When the brake lets go, Pods of other nodes may be due.
    if (this.#options.surroundings.braked !== this.#isBraked) this.lookEverywhere();
    this.#lookSoon(node);
  }

  /** Resolves when nothing is being written. */
  drain(): Promise<void> {
    return this.#queue.drain();
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  #lookSoon(node: string): void {
    if (!this.#term.aborted) this.#queue.add(node);
  }

  #sayBrake(): void {
    const { surroundings, log } = this.#options;
    const { braked, unreachable, settings } = surroundings;
    if (braked === this.#isBraked || this.#term.aborted) return;
    this.#isBraked = braked;
    const nodes = { unreachable: unreachable.size, brake: settings.brake };
    if (braked) log.warn(nodes, "so many nodes are unreachable that the control plane may be cut off: freeing no Pods");
    else log.info(nodes, "enough nodes are back: freeing stuck Pods again");
  }

  async #look(node: string): Promise<void> {
    const { surroundings, requests, now } = this.#options;
    const signal = this.#term;
    if (signal.aborted || !surroundings.settings.enabled) return;
    if (!surroundings.unreachable.has(node)) {
      this.#told.delete(node);
      return;
    }
    // What the groups of a cut-off cluster wait for is said in their conditions; the API server has enough to do.
    if (surroundings.braked) return;
    try {
      const pods = await requests.podsOn(node, signal);
      const verdicts = pods.map((pod) => ({ pod, verdict: judgeStuckPod(pod, surroundings, now()) }));
      this.#tell(node, verdicts);
      const due = verdicts.filter(({ verdict }) => verdict.kind === "free").map(({ pod }) => pod);
      if (due.length > 0) await this.#freeAll(node, due, signal);
      const waits = verdicts.flatMap(({ verdict }) => (verdict.kind === "wait" ? verdict.until - now() : []));
      this.#queue.addAfter(node, Math.min(this.#period, ...waits.map((wait) => Math.max(wait, 0))));
    } catch (error) {
      // The end of a term ends its requests; the next leader looks at every lost node.
      if (!signal.aborted) throw error;
    }
  }

  async #freeAll(node: string, pods: readonly ConsentingPod[], signal: AbortSignal): Promise<void> {
    const { surroundings, requests, now } = this.#options;
    // The watch of nodes may be behind; what cannot be taken back is done on a fresh look only.
    const fresh = await requests.node(node, signal);
    if (fresh?.unreachable === undefined) return;
    const unreachable = new Map([[node, fresh.unreachable]]);
    const failures: unknown[] = [];
    for (const pod of pods) {
      const { settings, optedIn, braked, settledAt } = surroundings;
      // For each anew: every write takes time, in which the brake may have come to hold.
      const verdict = judgeStuckPod(pod, { settings, optedIn, braked, settledAt, unreachable }, now());
      if (verdict.kind !== "free") continue;
      try {
        await this.#free(pod, verdict.marked, signal);
      } catch (error) {
        // One that cannot be freed must not keep the others stuck.
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Ends the Pod for Kubernetes: marked first, so that whoever follows after a crash here knows to delete it. */
  async #free(pod: ConsentingPod, marked: boolean, signal: AbortSignal): Promise<void> {
    const { requests, record, metrics, log, now } = this.#options;
    const { namespace, name, uid, node } = pod;
    const message = this.#messageFor(pod);
    if (!marked) {
      try {
        await requests.mark(pod, message, now(), signal);
      } catch (error) {
        // Gone by itself.
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
    const lost = `node ${node} is unreachable${since === undefined ? "" : ` since ${since}`}`;
    return `forcefully deleted ${formatDuration(settings.threshold)} after its grace period of ${grace}, because ${lost} and the annotation ${consent} allows it; it may still run there until that node is back or ends`;
  }

  /** Says and counts what was decided about each terminating Pod, once. */
  #tell(node: string, verdicts: readonly { readonly pod: ConsentingPod; readonly verdict: StuckVerdict }[]): void {
    const { metrics, log } = this.#options;
    const before = this.#told.get(node);
    const told = new Map<string, string>();
    for (const { pod, verdict } of verdicts) {
      if (verdict.kind === "leave" && isUsual(verdict.reason)) continue;
      const text = verdict.kind === "leave" ? verdict.reason : verdict.kind;
      told.set(pod.uid, text);
      if (before?.get(pod.uid) === text) continue;
      if (verdict.kind === "leave") metrics.left(verdict.reason);
      const { namespace, name, uid } = pod;
      log.info({ namespace, pod: name, uid, node, verdict: text }, `stuck Pod: ${explainVerdict(verdict, pod)}`);
    }
    this.#told.set(node, told);
  }
}
