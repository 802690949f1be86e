// Makes sure, for as long as the barrier is down, that the Pod may go on waiting at it. The kubelet does nothing for a Pod that waits
// in a hook, so it is the agent that has to notice when its Pod is deleted, or when its workers run although they should wait.
import { reasonOf } from "../../src/errors.ts";
import { ApiTrouble } from "../api/api-trouble.ts";
import type { Barrier } from "./barrier.ts";
import { reasonToEnd } from "./reason-to-end.ts";

/**
 * Most restarts are over before the first question. A group that waits for long asks less often: ten thousand agents that ask every
 * 10 to 20 s are less than what ten thousand kubelets write to stay alive.
 */
export const PAUSE_MS = { first: 3_000, most: 20_000 };

export interface HoldEffects {
  /** The agent's own Pod, from the API server. */
  ownPod(): Promise<unknown>;
  /** Whether the group's object was there, and is no more as far as is known. */
  hasLostGroup(): boolean;
  /** Resolves when that happens next. */
  groupGone(): Promise<void>;
  /** The process ends. */
  giveUp(reason: string): Promise<void>;
  sleep(ms: number): Promise<void>;
  random(): number;
}

export class Hold {
  readonly #barrier: Pick<Barrier, "isLifted" | "waitOn">;
  readonly #startedAt: number;
  readonly #effects: HoldEffects;
  #trouble = "";
  #wasKnown = false;

  /** `startedAt` is when the agent started, by the clock of its node. */
  constructor(barrier: Pick<Barrier, "isLifted" | "waitOn">, startedAt: number, effects: HoldEffects) {
    this.#barrier = barrier;
    this.#startedAt = startedAt;
    this.#effects = effects;
  }

  /** Why the API server could not be asked the last time; empty if it could. The gate ends by itself if that lasts. */
  get trouble(): string {
    return this.#trouble;
  }

  /** Ends when the barrier has lifted. */
  async run(): Promise<void> {
    const { giveUp, groupGone } = this.#effects;
    let gone = groupGone();
    for (let pause = PAUSE_MS.first; ; pause = Math.min(pause * 2, PAUSE_MS.most)) {
      // All that belongs to a deleted JobSet goes at about the same time; its agents are told of it at once, and must not all ask at once.
      while ((await this.#rest(pause, gone)) === "group gone") {
        pause = PAUSE_MS.first;
        gone = groupGone();
      }
      if (this.#barrier.isLifted) return;
      const verdict = await this.#ask();
      if (this.#barrier.isLifted) return;
      if (verdict === "wait") this.#barrier.waitOn();
      else if (verdict !== "unknown") return await giveUp(verdict.reason);
    }
  }

  async #rest(pause: number, gone: Promise<void>): Promise<"rested" | "group gone"> {
    const { sleep, random } = this.#effects;
    return await Promise.race([
      sleep(pause * (0.5 + random() / 2)).then(() => "rested" as const),
      gone.then(() => "group gone" as const),
    ]);
  }

  /**
   * Its object was deleted by force, and what runs here still occupies the node. A token is good for as long as its Pod exists, so that it is
   * refused says the same, if it was accepted before; else it may be the fault of the API server, and starting anew would not help.
   * When a JobSet is deleted, what its agents may do goes with the group's object: a Pod that has lost both is deleted as well, or about to be.
   */
  #isUnknown({ status }: ApiTrouble): boolean {
    if (status === 403) return this.#effects.hasLostGroup();
    return status === 404 || (status === 401 && this.#wasKnown);
  }

  async #ask(): Promise<"wait" | "unknown" | { readonly reason: string }> {
    try {
      const reason = reasonToEnd(await this.#effects.ownPod(), this.#startedAt);
      this.#trouble = "";
      this.#wasKnown = true;
      return reason === undefined ? "wait" : { reason };
    } catch (error) {
      if (error instanceof ApiTrouble && this.#isUnknown(error))
        return { reason: "the API server no longer knows the Pod" };
      this.#trouble = reasonOf(error);
      return "unknown";
    }
  }
}
