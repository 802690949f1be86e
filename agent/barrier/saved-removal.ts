// Since when reprise is gone, saved for the Pod's next agents. A file that a worker forges changes little: each agent
// still asks the API server itself before it starts the workers without their group.
import { file, write } from "bun";
import { reasonOf } from "../../src/errors.ts";
import type { Removal } from "../decide-removed.ts";
import type { Log } from "../log.ts";
import { wholeNumber } from "../whole-number.ts";
import { savedRemovalPath } from "./agent-files.ts";

/** Longer than two times in seconds. */
const MAX_BYTES = 32;

export class SavedRemoval {
  readonly #path: string;
  readonly #log: Log;

  constructor(podUid: string, log: Log) {
    this.#path = savedRemovalPath(podUid);
    this.#log = log;
  }

  /** Undefined if there is none, or the file is not readable. */
  async read(): Promise<Removal | undefined> {
    try {
      const [since, confirmed] = (await file(this.#path).slice(0, MAX_BYTES).text()).split(" ");
      const removal = { since: wholeNumber(since ?? ""), confirmed: wholeNumber(confirmed ?? "") };
      if (removal.since === undefined || removal.confirmed === undefined) return undefined;
      return { since: removal.since, confirmed: removal.confirmed };
    } catch {
      return undefined;
    }
  }

  /** A failure is logged only: the next agent then waits for its own proof. */
  async save(removal: Removal | undefined): Promise<void> {
    try {
      if (removal !== undefined) await write(this.#path, `${removal.since} ${removal.confirmed}`);
      else if (await file(this.#path).exists()) await file(this.#path).delete();
    } catch (error) {
      this.#log.warn("cannot save that reprise is gone", { reason: reasonOf(error) });
    }
  }
}
