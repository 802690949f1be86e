// The agent's main loop: read the group's object, decide, act, watch. API server errors never end it, because a running
// worker must survive them; each is logged once and retried.
import { reasonOf } from "../src/errors.ts";
import { backoffDelay } from "../src/kube/backoff.ts";
import type { WatchUpdate } from "./api/group-object.ts";
import { RequestError } from "./api/request-error.ts";
import { type Action, type AgentState, advance, decide, type GroupView, type Identity, newAgent } from "./decide.ts";
import type { Log } from "./log.ts";
import type { RemovalCheck } from "./removal-check.ts";

/** The side effects of the agent. */
export interface Effects {
  read(): Promise<GroupView>;
  watch(resourceVersion: string | undefined, random: number): AsyncIterable<WatchUpdate>;
  publish(epoch: number): Promise<void>;
  /** Rejects or throws if the barrier could not be lifted. */
  lift(): void | Promise<void>;
  /** Never returns: the process exits. */
  restart(): never;
  /** Absent in JobSet's own protocol, which does not depend on reprise's controller. */
  readonly removal?: Pick<RemovalCheck, "isRemoved" | "learn">;
  sleep(ms: number): Promise<void>;
  /** Monotonic clock, in milliseconds. */
  now(): number;
  random(): number;
}

/** The first retry is quick, because a recovery may wait for it; later ones let thousands of agents share a server. */
const RETRY = { initialMs: 50, maxMs: 5_000 };

/**
 * After reprise is uninstalled, the agents of running Pods get 403 or 404 for the rest of their lives. A running worker
 * can wait this long until its agent has access again; at 60 s, ten thousand agents send 200 requests a second.
 */
const NO_ACCESS_RETRY = { initialMs: 50, maxMs: 60_000 };
const NO_ACCESS: ReadonlySet<number | undefined> = new Set([403, 404]);

/** A watch that ends sooner was cut off, not ended by the server's timeout. */
const SHORTEST_WATCH_MS = 1_000;

const GONE = 410;

/** A local failure that has nothing to do with the API server. */
class LiftFailed extends Error {}

export class Follower {
  readonly #effects: Effects;
  readonly #log: Log;
  #state: AgentState;
  #failures = 0;
  /** The last error that was logged; empty once the API server answers again. */
  #lastError = "";
  #waitReason = "";
  #groupState: "unknown" | "exists" | "deleted" = "unknown";
  #deleted = Promise.withResolvers<void>();

  /** `savedEpoch` comes from the Pod's previous agent. */
  constructor(identity: Identity, effects: Effects, log: Log, savedEpoch?: number) {
    this.#effects = effects;
    this.#log = log;
    this.#state = newAgent(identity, savedEpoch);
  }

  /** Why the last request failed; empty while the API server answers. */
  get lastError(): string {
    return this.#lastError;
  }

  /** Whether the group's object existed and, as far as the agent knows, no longer does. */
  get hasLostGroup(): boolean {
    return this.#groupState === "deleted";
  }

  /** Resolves the next time the group's object is deleted. */
  groupGone(): Promise<void> {
    return this.#deleted.promise;
  }

  async run(): Promise<never> {
    for (;;) {
      try {
        await this.#readAndWatch();
      } catch (error) {
        await this.#recover(await this.#checkRemoval(error));
      }
    }
  }

  /** Starts the workers if reprise was removed. Returns the error to recover from. */
  async #checkRemoval(error: unknown): Promise<unknown> {
    const { removal } = this.#effects;
    if (removal === undefined || this.#state.lifted) return error;
    if (!isNoAccess(error)) {
      await removal.learn("unknown");
      return error;
    }
    try {
      if (await removal.isRemoved()) await this.#actOn({ kind: "removed" });
      return error;
    } catch (liftFailed) {
      return liftFailed;
    }
  }

  /** Returns when a consistent read is needed. */
  async #readAndWatch(): Promise<void> {
    await this.#actOn(await this.#effects.read());
    let resourceVersion: string | undefined;
    for (;;) {
      const began = this.#effects.now();
      for await (const update of this.#effects.watch(resourceVersion, this.#effects.random())) {
        await this.#effects.removal?.learn("served");
        this.#clearError();
        if (update.resourceVersion !== undefined) {
          resourceVersion = update.resourceVersion;
          this.#failures = 0;
        }
        if (update.view !== undefined && (await this.#actOn(update.view)) === "read") return;
      }
      if (this.#effects.now() - began < SHORTEST_WATCH_MS) throw new RequestError("the watch was cut short");
    }
  }

  /** Performs every action that the view calls for. */
  async #actOn(view: GroupView): Promise<"wait" | "read"> {
    this.#trackGroup(view);
    for (;;) {
      const action = decide(this.#state, view);
      if (action.kind === "wait") this.#logWaiting(view);
      if (action.kind === "wait" || action.kind === "read") return action.kind;
      await this.#perform(action);
      this.#state = advance(this.#state, action);
    }
  }

  async #perform(action: Action): Promise<void> {
    const { epoch } = this.#state;
    switch (action.kind) {
      case "publish":
        await this.#effects.publish(action.epoch);
        this.#log.info("epoch published", { epoch: action.epoch });
        return;
      case "lift":
        await this.#lift();
        if (action.alone === true) this.#log.warn("reprise was removed, starting the workers without their group");
        else this.#log.info("barrier lifted", { epoch });
        return;
      case "restart":
        this.#log.info("epoch deprecated, restarting the Pod in place", { epoch });
        return this.#effects.restart();
    }
  }

  /** A failure makes the agent read the group again before it retries: the epoch may have ended meanwhile. */
  async #lift(): Promise<void> {
    try {
      await this.#effects.lift();
    } catch (error) {
      throw new LiftFailed(reasonOf(error), { cause: error });
    }
  }

  #trackGroup({ kind }: GroupView): void {
    if (kind === "group" || kind === "uninitialized") this.#groupState = "exists";
    if (kind !== "absent" || this.#groupState !== "exists") return;
    this.#groupState = "deleted";
    this.#deleted.resolve();
    this.#deleted = Promise.withResolvers();
  }

  #logWaiting(view: GroupView): void {
    const reason = WAITING[view.kind];
    if (reason !== undefined && reason !== this.#waitReason) this.#log.info("waiting", { reason });
    this.#waitReason = reason ?? "";
  }

  #clearError(): void {
    if (this.#lastError !== "") this.#log.info("API server is reachable again");
    this.#lastError = "";
  }

  async #recover(error: unknown): Promise<void> {
    // Expired history is no error: read again at once, but not in a tight loop.
    const isExpired = error instanceof RequestError && error.status === GONE;
    this.#failures += 1;
    if (isExpired && this.#failures === 1) return;
    const reason = reasonOf(error);
    const message = error instanceof LiftFailed ? "cannot lift the barrier, retrying" : "API server error, retrying";
    if (reason !== this.#lastError) this.#log.warn(message, { reason });
    this.#lastError = reason;
    const retryAfterMs = error instanceof RequestError ? (error.retryAfterMs ?? 0) : 0;
    const backoff = isNoAccess(error) && this.#state.lifted ? NO_ACCESS_RETRY : RETRY;
    const delay = backoffDelay(backoff, this.#failures, () => this.#effects.random());
    // All agents were told the same delay; up to half of it on top spreads them.
    await this.#effects.sleep(Math.max(delay, retryAfterMs * (1 + this.#effects.random() / 2)));
  }
}

function isNoAccess(error: unknown): boolean {
  return error instanceof RequestError && NO_ACCESS.has(error.status);
}

const WAITING: { readonly [K in GroupView["kind"]]?: string } = {
  absent: "the group's object does not exist",
  foreign: "the group's object belongs to another JobSet",
  uninitialized: "the group's object has no epochs yet",
};
