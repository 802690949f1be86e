// Checks, while the barrier is down, that the Pod may still wait at it. The kubelet does nothing for a Pod whose
// postStart hook runs, so the agent itself must notice that its Pod is being deleted or that its workers run without
// the barrier.
import { reasonOf } from "../../src/errors.ts";
import { RequestError } from "../api/request-error.ts";
import type { Barrier } from "./barrier.ts";
import { exitReason } from "./exit-reason.ts";

/**
 * Most restarts finish before the first check. Long waits check less often: ten thousand agents that check every 10 to
 * 20 s cost the API server less than the heartbeats of ten thousand kubelets.
 */
export const RECHECK_MS = { first: 3_000, max: 20_000 };

export interface WatchdogEffects {
  /** The agent's own Pod, from the API server. */
  ownPod(): Promise<unknown>;
  /** Whether the group's object existed and, as far as the agent knows, no longer does. */
  hasLostGroup(): boolean;
  /** Resolves the next time the group's object is deleted. */
  groupGone(): Promise<void>;
  /** The process ends. */
  giveUp(reason: string): Promise<void>;
  sleep(ms: number): Promise<void>;
  random(): number;
}

export class Watchdog {
  readonly #barrier: Pick<Barrier, "isLifted" | "keepWaiting">;
  readonly #startedAt: number;
  readonly #effects: WatchdogEffects;
  #lastError = "";
  #wasAuthorized = false;

  /** `startedAt` is the start of the agent, by the clock of its node. */
  constructor(barrier: Pick<Barrier, "isLifted" | "keepWaiting">, startedAt: number, effects: WatchdogEffects) {
    this.#barrier = barrier;
    this.#startedAt = startedAt;
    this.#effects = effects;
  }

  /** Why the last request failed; empty if it succeeded. If this lasts, the gate times out on its own. */
  get lastError(): string {
    return this.#lastError;
  }

  /** Returns when the barrier has lifted. */
  async run(): Promise<void> {
    const { giveUp, groupGone } = this.#effects;
    let gone = groupGone();
    for (let pause = RECHECK_MS.first; ; pause = Math.min(pause * 2, RECHECK_MS.max)) {
      // When a JobSet is deleted, its objects go at about the same time and all its agents learn of it at once. They
      // must not all send a request at once.
      while ((await this.#pause(pause, gone)) === "group gone") {
        pause = RECHECK_MS.first;
        gone = groupGone();
      }
      if (this.#barrier.isLifted) return;
      const verdict = await this.#check();
      if (this.#barrier.isLifted) return;
      if (verdict === "wait") this.#barrier.keepWaiting();
      else if (verdict !== "unknown") return await giveUp(verdict.reason);
    }
  }

  async #pause(ms: number, gone: Promise<void>): Promise<"elapsed" | "group gone"> {
    const { sleep, random } = this.#effects;
    return await Promise.race([
      sleep(ms * (0.5 + random() / 2)).then(() => "elapsed" as const),
      gone.then(() => "group gone" as const),
    ]);
  }

  /**
   * The Pod object was force-deleted while its processes still occupy the node. A token is valid for as long as its Pod
   * exists, so 401 after an accepted request means the same; 401 from the start may be the API server's fault, and a
   * restart would not help. When a JobSet is deleted, the agents' RBAC goes with the group's object: a Pod that lost
   * both is being deleted as well, or is about to be.
   */
  #isPodGone({ status }: RequestError): boolean {
    if (status === 403) return this.#effects.hasLostGroup();
    return status === 404 || (status === 401 && this.#wasAuthorized);
  }

  async #check(): Promise<"wait" | "unknown" | { readonly reason: string }> {
    try {
      const reason = exitReason(await this.#effects.ownPod(), this.#startedAt);
      this.#lastError = "";
      this.#wasAuthorized = true;
      return reason === undefined ? "wait" : { reason };
    } catch (error) {
      if (error instanceof RequestError && this.#isPodGone(error))
        return { reason: "the API server no longer knows the Pod" };
      this.#lastError = reasonOf(error);
      return "unknown";
    }
  }
}
