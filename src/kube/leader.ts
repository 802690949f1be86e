// Leader election on a Lease: at most one process leads at any time. A leader stops leading before any other may take
// over, by its own monotonic clock, counted from before its last successful renewal was sent. Timestamps of other
// processes are never compared with the local clock: a candidate measures how long the Lease stayed unchanged.

import type { JsonObject } from "../json/types.ts";
import { hasStatus, isJsonObject } from "./api-error.ts";
import { type Clock, pause, systemClock } from "./clock.ts";
import { microTime } from "./micro-time.ts";

/** The part of a client that the election uses. */
export interface LeaseClient {
  request(
    method: "GET" | "POST" | "PUT",
    path: string,
    options: { readonly body?: unknown; readonly signal: AbortSignal },
  ): Promise<JsonObject>;
}

export interface LeaderTiming {
  /** How long candidates wait for a silent leader. Whole seconds, as in a Lease. */
  readonly leaseMs: number;
  /** How long a leader may lead after its last renewal. Shorter than the lease, to absorb clock drift. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

/**
 * Shorter than in Kubernetes' own control plane (15, 10 and 2 s): a recovery that waits for a dead leader waits for the
 * whole lease. A leader that steps down too soon costs little, because its caches stay warm (decision 0018).
 */
const TIMING: LeaderTiming = { leaseMs: 6_000, renewDeadlineMs: 4_000, retryMs: 1_000 };

export interface LeaderOptions {
  readonly client: LeaseClient;
  readonly namespace: string;
  readonly name: string;
  /** Unique among candidates, including restarts of the same Pod. */
  readonly identity: string;
  /** The work of one term. It must return soon after the signal aborts; the next term starts only after that. */
  readonly lead: (signal: AbortSignal) => Promise<void> | void;
  readonly onError: (error: unknown) => void;
  /** Called for each new holder, this process included; "" when the Lease was released. */
  readonly onHolder?: (identity: string) => void;
  readonly timing?: LeaderTiming;
  readonly clock?: Clock;
  readonly random?: () => number;
}

interface Term {
  readonly abort: AbortController;
  validUntil: number;
  cancelExpiry: () => void;
}

/** The Lease as last read or written, and since when it is unchanged by the local clock. */
interface Observation {
  readonly lease: JsonObject;
  readonly version: string;
  readonly since: number;
}

export class LeaderElection {
  readonly #options: LeaderOptions;
  readonly #timing: LeaderTiming;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #collection: string;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #observed: Observation | undefined;
  #term: Term | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(options: LeaderOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
    const { leaseMs, renewDeadlineMs, retryMs } = this.#timing;
    if (leaseMs % 1000 !== 0 || renewDeadlineMs >= leaseMs || retryMs >= renewDeadlineMs) {
      throw new RangeError("leader election needs a lease of whole seconds, and retry < renew deadline < lease");
    }
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#collection = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`;
  }

  isLeader(): boolean {
    return this.#term !== undefined && this.#clock.now() < this.#term.validUntil;
  }

  /** The holder of the Lease as last seen; "" if there is none or the Lease was not read yet. */
  get holder(): string {
    return this.#observed === undefined ? "" : holderOf(this.#observed.lease);
  }

  /** Aborts when the current term ends; already aborted if this process does not lead. Pass it to every write. */
  get signal(): AbortSignal {
    return this.#term !== undefined && this.isLeader() ? this.#term.abort.signal : AbortSignal.abort();
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the term, waits for its work, and releases the Lease so that another candidate can lead at once. */
  async stop(): Promise<void> {
    const validUntil = this.#term?.validUntil ?? 0;
    this.#stop.abort();
    this.#endTerm("the process is stopping");
    await this.#running;
    // Work that outlives the term must not run beside a successor's: in that case the Lease is left to expire.
    const settled = this.#work.then(() => true);
    const timeout = new AbortController();
    const expired = pause(this.#clock, Math.max(0, validUntil - this.#clock.now()), timeout.signal).then(() => false);
    const finished = await Promise.race([settled, expired]);
    timeout.abort();
    if (finished) await this.#release();
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#attempt();
      // Candidates look twice as often, so that a released Lease is taken at once. Only they use jitter: a leader's
      // interval is part of its deadline.
      const spread = this.#term === undefined ? (1 + this.#random() / 5) / 2 : 1;
      await pause(this.#clock, this.#timing.retryMs * spread, this.#stop.signal);
    }
  }

  async #attempt(): Promise<void> {
    // A response after the end of the term is useless. A candidate waits as long as a leader would.
    const deadline = this.#term?.validUntil ?? this.#clock.now() + this.#timing.renewDeadlineMs;
    const abort = new AbortController();
    const giveUp = () => abort.abort(new Error("no response to a Lease request before the renew deadline"));
    const cancel = this.#clock.after(Math.max(0, deadline - this.#clock.now()), giveUp);
    try {
      // A leader knows the Lease; reading it first would only delay the renewal.
      if (this.#term === undefined || this.#observed === undefined) await this.#read(abort.signal);
      await this.#claim(abort.signal);
    } catch (error) {
      if (!hasStatus(error, 409)) this.#options.onError(error);
      // 404: the Lease was deleted, and another candidate may create it and lead.
      if (hasStatus(error, 409) || hasStatus(error, 404)) await this.#yieldUnlessHolder(abort.signal);
    } finally {
      cancel();
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    try {
      this.#observe(await this.#options.client.request("GET", this.#path, { signal }));
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
      this.#observed = undefined;
    }
  }

  /** Another process wrote the Lease. If that was another candidate, it leads now. */
  async #yieldUnlessHolder(signal: AbortSignal): Promise<void> {
    try {
      await this.#read(signal);
    } catch (error) {
      this.#options.onError(error);
      return;
    }
    if (this.#observed === undefined || holderOf(this.#observed.lease) !== this.#options.identity) {
      this.#endTerm("the Lease is no longer held by this process");
    }
  }

  async #claim(signal: AbortSignal): Promise<void> {
    const { client, identity } = this.#options;
    const observed = this.#observed;
    if (observed !== undefined && !this.#mayClaim(observed)) return;
    // Taken before the request: the server writes later, so every other candidate starts to wait later, too.
    const sentAt = this.#clock.now();
    const body = this.#claimed(observed?.lease);
    const answer =
      observed === undefined
        ? await client.request("POST", this.#collection, { body, signal })
        : await client.request("PUT", this.#path, { body, signal });
    this.#observe(answer);
    if (holderOf(answer) === identity) this.#lead(sentAt + this.#timing.renewDeadlineMs);
  }

  #mayClaim({ lease, since }: Observation): boolean {
    const holder = holderOf(lease);
    if (holder === "" || holder === this.#options.identity) return true;
    // The holder's lease duration counts, not this candidate's.
    const duration = numberIn(lease, "leaseDurationSeconds") * 1000 || this.#timing.leaseMs;
    return this.#clock.now() - since >= duration;
  }

  #claimed(lease: JsonObject | undefined): JsonObject {
    const { namespace, name, identity } = this.#options;
    const now = microTime();
    const continues = lease !== undefined && holderOf(lease) === identity;
    const previous = specOf(lease);
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: lease?.["metadata"] ?? { namespace, name },
      spec: {
        ...previous,
        holderIdentity: identity,
        leaseDurationSeconds: this.#timing.leaseMs / 1000,
        acquireTime: continues ? (previous["acquireTime"] ?? now) : now,
        renewTime: now,
        leaseTransitions: lease === undefined ? 0 : numberIn(lease, "leaseTransitions") + (continues ? 0 : 1),
      },
    };
  }

  #observe(lease: JsonObject): void {
    const metadata = lease["metadata"];
    const version = isJsonObject(metadata) ? String(metadata["resourceVersion"]) : "";
    if (this.#observed?.version === version) return;
    const before = this.#observed === undefined ? undefined : holderOf(this.#observed.lease);
    this.#observed = { lease, version, since: this.#clock.now() };
    if (holderOf(lease) !== before) this.#options.onHolder?.(holderOf(lease));
  }

  #lead(validUntil: number): void {
    if (this.#stop.signal.aborted) return;
    const remaining = validUntil - this.#clock.now();
    // A response that came too late proves nothing.
    if (remaining <= 0) return;
    const cancelExpiry = this.#clock.after(remaining, () => this.#endTerm("the Lease was not renewed in time"));
    if (this.#term !== undefined) {
      this.#term.cancelExpiry();
      this.#term.cancelExpiry = cancelExpiry;
      this.#term.validUntil = validUntil;
      return;
    }
    const term: Term = { abort: new AbortController(), validUntil, cancelExpiry };
    this.#term = term;
    this.#work = this.#work.then(async () => {
      if (term.abort.signal.aborted) return;
      try {
        await this.#options.lead(term.abort.signal);
      } catch (error) {
        if (!term.abort.signal.aborted) this.#options.onError(error);
      }
    });
  }

  #endTerm(why: string): void {
    const term = this.#term;
    if (term === undefined) return;
    this.#term = undefined;
    term.cancelExpiry();
    term.abort.abort(new Error(`no longer the leader: ${why}`));
  }

  async #release(): Promise<void> {
    const lease = this.#observed?.lease;
    if (lease === undefined || holderOf(lease) !== this.#options.identity) return;
    const { holderIdentity: _released, ...spec } = specOf(lease);
    const body = { ...lease, spec: { ...spec, leaseDurationSeconds: 1, renewTime: microTime() } };
    const abort = new AbortController();
    const cancel = this.#clock.after(this.#timing.renewDeadlineMs, () => abort.abort());
    try {
      await this.#options.client.request("PUT", this.#path, { body, signal: abort.signal });
    } catch (error) {
      // A conflict means that another process holds the Lease now.
      if (!hasStatus(error, 409)) this.#options.onError(error);
    } finally {
      cancel();
    }
  }

  get #path(): string {
    return `${this.#collection}/${this.#options.name}`;
  }
}

function specOf(lease: JsonObject | undefined): JsonObject {
  const spec = lease?.["spec"];
  return isJsonObject(spec) ? spec : {};
}

function holderOf(lease: JsonObject): string {
  const holder = specOf(lease)["holderIdentity"];
  return typeof holder === "string" ? holder : "";
}

function numberIn(lease: JsonObject, field: string): number {
  const value = specOf(lease)[field];
  return typeof value === "number" ? value : 0;
}
