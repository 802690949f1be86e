// Asks the API server whether reprise was removed, while an agent that waits at its barrier is denied access.
import { afterAnswer, mayStartAlone, type Removal, type TypeState } from "./decide-removed.ts";
import type { Log } from "./log.ts";

/** Spread over [50 %, 100 %], so that the agents of a large group do not ask in step. */
const PAUSE_MS = 10_000;

export interface RemovalEffects {
  /** Never rejects. */
  typeState(): Promise<TypeState>;
  save(removal: Removal | undefined): Promise<void>;
  /** Monotonic clock, in milliseconds. */
  now(): number;
  /** Clock of the node, in seconds. It continues while the Pod restarts. */
  wallClock(): number;
  random(): number;
}

export class RemovalCheck {
  readonly #effects: RemovalEffects;
  readonly #log: Log;
  #removal: Removal | undefined;
  #nextAt = Number.NEGATIVE_INFINITY;

  /** `inherited` comes from the Pod's previous agent. */
  constructor(effects: RemovalEffects, log: Log, inherited?: Removal) {
    this.#effects = effects;
    this.#log = log;
    this.#removal = inherited;
  }

  /** Access was denied, or the object does not exist. Whether the workers may start without their group. */
  async isRemoved(): Promise<boolean> {
    const { typeState, now, random } = this.#effects;
    if (now() < this.#nextAt) return false;
    this.#nextAt = now() + PAUSE_MS * (0.5 + random() / 2);
    const state = await typeState();
    await this.learn(state);
    return mayStartAlone(this.#removal, state);
  }

  /** What other requests show: `served` if one of the type succeeded, `unknown` if it failed for another reason. */
  async learn(state: TypeState): Promise<void> {
    const before = this.#removal;
    this.#removal = afterAnswer(before, state, this.#effects.wallClock());
    if (before === undefined && this.#removal !== undefined)
      this.#log.warn("the API server does not serve GroupEpoch: was reprise removed?");
    if (this.#removal !== before) await this.#effects.save(this.#removal);
  }
}
