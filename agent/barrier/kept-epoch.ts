// What an agent leaves behind for the next one of its Pod: the epoch that it took, for as long as it has not lifted the barrier for it.
// Why that is safe is in decide.ts, and rests on one thing: the file must never outlive the start of a worker.
import { file, write } from "bun";
import { reasonOf } from "../../src/errors.ts";
import type { Effects } from "../follow.ts";
import type { Log } from "../log.ts";
import { wholeNumber } from "../whole-number.ts";
import { keptEpochOf } from "./socket-name.ts";

/** More than any epoch has. Containers of the same Pod can put there what they like. */
const MOST_BYTES = 16;

export class KeptEpoch {
  readonly #path: string;
  readonly #log: Log;

  constructor(podUid: string, log: Log) {
    this.#path = keptEpochOf(podUid);
    this.#log = log;
  }

  /** What cannot be read, or is no epoch, is nothing. */
  async read(): Promise<number | undefined> {
    try {
      return wholeNumber(await file(this.#path).slice(0, MOST_BYTES).text());
    } catch {
      return undefined;
    }
  }

  /** Where it is not possible, because workers have filled the folder, a restart too many is better than none at all. */
  async keep(epoch: number): Promise<void> {
    try {
      await write(this.#path, String(epoch));
    } catch (error) {
      this.#log.warn("cannot keep the epoch for a restart at the barrier", { epoch, reason: reasonOf(error) });
    }
  }

  /** Rejects if the file may still be there. */
  async forget(): Promise<void> {
    try {
      await file(this.#path).delete();
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    }
  }
}

type Steps = Pick<Effects, "publish" | "lift">;

/**
 * Kept before it is published, because a request whose answer is lost may have been carried out; and gone before the barrier lifts, because
 * from then on a worker may run.
 */
export function keptBetween({ publish, lift }: Steps, kept: Pick<KeptEpoch, "keep" | "forget">): Steps {
  return {
    publish: async (epoch) => {
      await kept.keep(epoch);
      await publish(epoch);
    },
    lift: async () => {
      await kept.forget();
      await lift();
    },
  };
}
