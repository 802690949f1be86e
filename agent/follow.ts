// The agent's main loops: one watches the group's object, the other decides and acts on the last view of it. API server
// errors never end them, because a running worker must survive them; each is logged once and retried.
import type { WatchUpdate } from "./api/group-object.ts";
import { RequestError } from "./api/request-error.ts";
import { type Action, type AgentState, advance, decide, type GroupView, type Identity, newAgent } from "./decide.ts";
import type { Log } from "./log.ts";
import type { RemovalCheck } from "./removal-check.ts";
import { isNoAccess, Retry } from "./retry.ts";

/** The side effects of the agent. */
export interface Effects {
  /** Every change after `resourceVersion`. Without one, first the current state, read consistently. */
  watch(resourceVersion: string | undefined, random: number): AsyncIterable<WatchUpdate>;
  publish(epoch: number): Promise<void>;
  /** `epoch`: that of the workers, unless they start without their group. */
  lift(epoch: number | undefined): void;
  /** Never returns: the process exits. */
  restart(): never;
  /** Absent in JobSet's own protocol, which does not depend on reprise's controller. */
  readonly removal?: Pick<RemovalCheck, "isRemoved" | "learn">;
  sleep(ms: number): Promise<void>;
  /** Monotonic clock, in milliseconds. */
  now(): number;
  random(): number;
}

/** A watch that ends sooner was cut off, not ended by the server's timeout. */
const SHORTEST_WATCH_MS = 1_000;

const GONE = 410;

export class Follower {
  readonly #effects: Effects;
  readonly #log: Log;
  readonly #watching: Retry;
  readonly #publishing: Retry;
  #state: AgentState;
  #view: GroupView | undefined;
  #seen = Promise.withResolvers<void>();
  #waitReason = "";

  constructor(identity: Identity & { readonly groupSize: number }, effects: Effects, log: Log) {
    this.#effects = effects;
    this.#log = log;
    const { groupSize } = identity;
    const retry = (message: string) => new Retry({ message, groupSize, random: () => effects.random(), log });
    this.#watching = retry("API server error, retrying");
    this.#publishing = retry("cannot publish the epoch, retrying");
    this.#state = newAgent(identity);
  }

  async run(): Promise<never> {
    return await Promise.race([this.#watch(), this.#act()]);
  }

  async #watch(): Promise<never> {
    let resourceVersion: string | undefined;
    let hasExpired = false;
    for (;;) {
      const began = this.#effects.now();
      try {
        for await (const update of this.#effects.watch(resourceVersion, this.#effects.random())) {
          await this.#effects.removal?.learn("served");
          ({ resourceVersion = resourceVersion } = update);
          const progress = update.resourceVersion === undefined ? "no progress" : "progress";
          if (this.#watching.reached(progress)) this.#log.info("API server is reachable again");
          if (progress === "progress") hasExpired = false;
          if (update.view !== undefined) this.#see(update.view);
        }
        if (this.#effects.now() - began < SHORTEST_WATCH_MS) throw new RequestError("the watch was cut short");
      } catch (error) {
        // A consistent start costs no more than to continue, and cannot miss a change.
        resourceVersion = undefined;
        const expiredNow = error instanceof RequestError && error.status === GONE;
        // Expired history is no error: watch again at once, but not in a tight loop.
        if (!expiredNow || hasExpired) await this.#recover(this.#watching, error);
        hasExpired = expiredNow;
      }
    }
  }

  /** Performs every action that the last view calls for. */
  async #act(): Promise<never> {
    for (;;) {
      const seen = this.#seen.promise;
      const action: Action = this.#view === undefined ? { kind: "wait" } : decide(this.#state, this.#view);
      if (action.kind === "wait") {
        this.#logWaiting();
        await seen;
      } else if (await this.#perform(action)) this.#state = advance(this.#state, action);
    }
  }

  #see(view: GroupView): void {
    this.#view = view;
    this.#seen.resolve();
    this.#seen = Promise.withResolvers();
  }

  /** Returns whether it is done. If not, the view may have changed meanwhile. */
  async #perform(action: Action): Promise<boolean> {
    const { epoch } = this.#state;
    if (action.kind === "restart") {
      this.#log.info("epoch deprecated, restarting the Pod in place", { epoch });
      return this.#effects.restart();
    }
    if (action.kind === "publish") return await this.#publish(action.epoch);
    if (action.kind === "lift") {
      this.#effects.lift(action.alone === true ? undefined : epoch);
      if (action.alone === true) this.#log.warn("reprise was removed, starting the workers without their group");
      else this.#log.info("barrier lifted", { epoch });
    }
    return true;
  }

  async #publish(epoch: number): Promise<boolean> {
    try {
      await this.#effects.publish(epoch);
      this.#publishing.reached("progress");
      this.#log.info("epoch published", { epoch });
      return true;
    } catch (error) {
      await this.#recover(this.#publishing, error);
      return false;
    }
  }

  async #recover(step: Retry, error: unknown): Promise<void> {
    const { lifted } = this.#state;
    if (!lifted) await this.#checkRemoval(error);
    await this.#effects.sleep(step.failed(error, lifted));
  }

  async #checkRemoval(error: unknown): Promise<void> {
    const { removal } = this.#effects;
    if (!isNoAccess(error)) await removal?.learn("unknown");
    else if ((await removal?.isRemoved()) === true) this.#see({ kind: "removed" });
  }

  #logWaiting(): void {
    const reason = this.#view === undefined ? undefined : WAITING[this.#view.kind];
    if (reason !== undefined && reason !== this.#waitReason) this.#log.info("waiting", { reason });
    this.#waitReason = reason ?? "";
  }
}

const WAITING: { readonly [K in GroupView["kind"]]?: string } = {
  absent: "the group's object does not exist",
  foreign: "the group's object belongs to another JobSet",
  uninitialized: "the group's object has no epochs yet",
};
