// Knows which Pod of an epoch really failed first, and records every violation of the promise that the ladder moves no
// other. Reports of kubelets arrive in any order, so the controller cannot know it in every case.
import type { RestartRecord } from "../api/in-place-restart.ts";

interface FailedPod {
  readonly uid: string;
  readonly jobSetUid: string;
  readonly epoch: number;
}

export class FailureOrder {
  readonly #tell: (breach: string) => void;
  /** UIDs in the order in which their workers or agents ended by themselves, by JobSet and epoch. */
  readonly #failed = new Map<string, string[]>();
  readonly #breaches: string[] = [];

  constructor(tell: (breach: string) => void) {
    this.#tell = tell;
  }

  get breaches(): readonly string[] {
    return this.#breaches;
  }

  /** Epochs are counted from the beginning again: the object was lost, and no Pod had an epoch. */
  beginAnew(): void {
    this.#failed.clear();
  }

  failed({ uid, jobSetUid, epoch }: FailedPod): void {
    const key = keyOf(jobSetUid, epoch);
    this.#failed.set(key, [...(this.#failed.get(key) ?? []), uid]);
  }

  /** The controller deletes a Pod during the restart that the record describes. */
  moved(uid: string, jobSetUid: string, { cause, fromEpoch, action }: RestartRecord): void {
    // Who hangs is judged by training.ts.
    if (action !== "RecreatePod" || cause.reason === "Hung") return;
    const failed = this.#failed.get(keyOf(jobSetUid, fromEpoch)) ?? [];
    const [first = "no Pod"] = failed;
    if (cause.candidates === undefined ? uid !== first : !failed.includes(uid))
      this.#breach(`${uid} was moved, although ${first} failed first in epoch ${fromEpoch}`);
  }

  #breach(what: string): void {
    this.#tell(what);
    this.#breaches.push(what);
  }
}

function keyOf(jobSetUid: string, epoch: number): string {
  return `${jobSetUid} ${epoch}`;
}
