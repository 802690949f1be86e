// The epoch that an agent took, saved for the Pod's next agent until this one lifts the barrier. Why the next agent may
// reuse it is in decide.ts. That rests on one rule: the file must be gone before a worker starts.
import { file, write } from "bun";
import { reasonOf } from "../../src/errors.ts";
import type { Effects } from "../follow.ts";
import type { Log } from "../log.ts";
import { wholeNumber } from "../whole-number.ts";
import { savedEpochPath } from "./gate-socket.ts";

/** Longer than any epoch. Other containers of the Pod can write anything into the file. */
const MAX_BYTES = 16;

export class SavedEpoch {
  readonly #path: string;
  readonly #log: Log;

  constructor(podUid: string, log: Log) {
    this.#path = savedEpochPath(podUid);
    this.#log = log;
  }

  /** Undefined if the file cannot be read or holds no epoch. */
  async read(): Promise<number | undefined> {
    try {
      return wholeNumber(await file(this.#path).slice(0, MAX_BYTES).text());
    } catch {
      return undefined;
    }
  }

  /**
   * A failure, such as a full /dev/shm, is logged only: one restart too many is better than an agent that cannot start.
   */
  async save(epoch: number): Promise<void> {
    try {
      await write(this.#path, String(epoch));
    } catch (error) {
      this.#log.warn("cannot save the epoch", { epoch, reason: reasonOf(error) });
    }
  }

  /** Rejects if the file may still be there. */
  async remove(): Promise<void> {
    try {
      await file(this.#path).delete();
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    }
  }
}

type BarrierSteps = Pick<Effects, "publish" | "lift">;

/**
 * Saves the epoch before it is published, because a request whose response is lost may have succeeded. Removes it
 * before the barrier lifts, because a worker may run from then on.
 */
export function savedUntilLifted(
  { publish, lift }: BarrierSteps,
  savedEpoch: Pick<SavedEpoch, "save" | "remove">,
): BarrierSteps {
  return {
    publish: async (epoch) => {
      await savedEpoch.save(epoch);
      await publish(epoch);
    },
    lift: async () => {
      await savedEpoch.remove();
      await lift();
    },
  };
}
