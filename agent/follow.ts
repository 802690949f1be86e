// Follows the group for the life of the agent: looks, decides, acts, looks again. Trouble with the API server is never
// a reason to end, because a running worker must survive it; it is reported once and retried.
import { reasonOf } from "../src/errors.ts";
import { backoffDelay } from "../src/kube/backoff.ts";
import { ApiTrouble } from "./api/api-trouble.ts";
import type { WatchNews } from "./api/group-object.ts";
import { type Action, type AgentState, advance, decide, type Identity, newAgent, type Sighting } from "./decide.ts";
import type { Log } from "./log.ts";

/** What the agent can do to the world. */
export interface Effects {
  read(): Promise<Sighting>;
  watch(resourceVersion: string | undefined, random: number): AsyncIterable<WatchNews>;
  publish(epoch: number): Promise<void>;
  /** Rejects, or throws, if the barrier could not be lifted. */
  lift(): void | Promise<void>;
  /** Does not return: the process ends. */
  restart(): never;
  sleep(ms: number): Promise<void>;
  /** Milliseconds on a clock that never goes back. */
  now(): number;
  random(): number;
}

/** A first retry is quick, since a recovery may wait for it; the last ones let thousands of agents share a server. */
const RETRY = { initialMs: 50, maxMs: 5_000 };

/**
 * When reprise was removed, the agents of Pods that run on are told "forbidden" or "not found" for the rest of their lives. A worker
 * that runs already can wait this long for somebody to let its agent in again; at 60 s, ten thousand agents ask 200 times a second.
 */
const UNWELCOME_RETRY = { initialMs: 50, maxMs: 60_000 };
const UNWELCOME: ReadonlySet<number | undefined> = new Set([403, 404]);

/** A watch that ends sooner than this was cut, not ended by the server. */
const SHORTEST_WATCH_MS = 1_000;

const GONE = 410;

/** The API server has no part in it. */
class CannotLift extends Error {}

export class Follower {
  readonly #effects: Effects;
  readonly #log: Log;
  #state: AgentState;
  #failures = 0;
  /** What is wrong with the API server, as it was last reported. */
  #trouble = "";
  #waitingFor = "";
  #groupIs: "not seen yet" | "there" | "gone" = "not seen yet";
  #gone = Promise.withResolvers<void>();

  /** `kept` is what the Pod's last agent left behind. */
  constructor(identity: Identity, effects: Effects, log: Log, kept?: number) {
    this.#effects = effects;
    this.#log = log;
    this.#state = newAgent(identity, kept);
  }

  /** What is wrong with the API server; empty if nothing is. */
  get trouble(): string {
    return this.#trouble;
  }

  /** Whether the group's object was there, and is no more as far as is known. */
  get hasLostGroup(): boolean {
    return this.#groupIs === "gone";
  }

  /** Resolves when that happens next. */
  groupGone(): Promise<void> {
    return this.#gone.promise;
  }

  async run(): Promise<never> {
    for (;;) {
      try {
        await this.#lookAndWatch();
      } catch (error) {
        await this.#recover(error);
      }
    }
  }

  /** Returns when a consistent read is needed. */
  async #lookAndWatch(): Promise<void> {
    await this.#settle(await this.#effects.read());
    let resourceVersion: string | undefined;
    for (;;) {
      const began = this.#effects.now();
      for await (const news of this.#effects.watch(resourceVersion, this.#effects.random())) {
        this.#reached();
        if (news.resourceVersion !== undefined) {
          resourceVersion = news.resourceVersion;
          this.#failures = 0;
        }
        if (news.seen !== undefined && (await this.#settle(news.seen)) === "read") return;
      }
      if (this.#effects.now() - began < SHORTEST_WATCH_MS) throw new ApiTrouble("the watch was cut short");
    }
  }

  /** Does everything that the sighting asks for. */
  async #settle(seen: Sighting): Promise<"wait" | "read"> {
    this.#notice(seen);
    for (;;) {
      const action = decide(this.#state, seen);
      if (action.kind === "wait") this.#reportWaiting(seen);
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
        this.#log.info("barrier lifted", { epoch });
        return;
      case "restart":
        this.#log.info("epoch deprecated, restarting the Pod in place", { epoch });
        return this.#effects.restart();
    }
  }

  /** What is seen after a refusal counts: the epoch may have ended meanwhile. */
  async #lift(): Promise<void> {
    try {
      await this.#effects.lift();
    } catch (error) {
      throw new CannotLift(reasonOf(error), { cause: error });
    }
  }

  #notice({ kind }: Sighting): void {
    if (kind === "group" || kind === "uninitialised") this.#groupIs = "there";
    if (kind !== "absent" || this.#groupIs !== "there") return;
    this.#groupIs = "gone";
    this.#gone.resolve();
    this.#gone = Promise.withResolvers();
  }

  #reportWaiting(seen: Sighting): void {
    const reason = WAITING[seen.kind];
    if (reason !== undefined && reason !== this.#waitingFor) this.#log.info(reason);
    this.#waitingFor = reason ?? "";
  }

  #reached(): void {
    if (this.#trouble !== "") this.#log.info("API server answers again");
    this.#trouble = "";
  }

  async #recover(error: unknown): Promise<void> {
    // History that the server dropped is no trouble: look again at once, but not in a tight loop.
    const isGone = error instanceof ApiTrouble && error.status === GONE;
    this.#failures += 1;
    if (isGone && this.#failures === 1) return;
    const reason = reasonOf(error);
    const what = error instanceof CannotLift ? "cannot lift the barrier, retrying" : "API server trouble, retrying";
    if (reason !== this.#trouble) this.#log.warn(what, { reason });
    this.#trouble = reason;
    const asked = error instanceof ApiTrouble ? (error.retryAfterMs ?? 0) : 0;
    const isUnwelcome = error instanceof ApiTrouble && UNWELCOME.has(error.status) && this.#state.lifted;
    const own = backoffDelay(isUnwelcome ? UNWELCOME_RETRY : RETRY, this.#failures, () => this.#effects.random());
    // Everybody was told the same time to wait; up to half of it on top spreads them.
    await this.#effects.sleep(Math.max(own, asked * (1 + this.#effects.random() / 2)));
  }
}

const WAITING: { readonly [K in Sighting["kind"]]?: string } = {
  absent: "waiting: the group's object does not exist",
  foreign: "waiting: the group's object belongs to another JobSet",
  uninitialised: "waiting: the group's object has no epochs yet",
};
