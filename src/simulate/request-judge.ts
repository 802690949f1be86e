// Judges requests for a restart by hand: each is carried out at most once and never counted, and after it no worker
// runs in the epoch of the request.
import type { InPlaceRestartStatus } from "../api/in-place-restart.ts";

type Epochs = Pick<InPlaceRestartStatus, "deprecatedEpoch" | "syncedEpoch">;

interface Request {
  readonly jobSetUid: string;
  readonly text: string;
  /** The epoch that ran when the request was made; 0 if none did. */
  epoch: number;
  carriedOut: boolean;
}

export class RequestJudge {
  readonly #breach: (breach: string) => void;
  readonly #requests = new Map<string, Request>();

  constructor(breach: (breach: string) => void) {
    this.#breach = breach;
  }

  made(jobSetUid: string, text: string, status: Epochs | undefined): void {
    const runs = status !== undefined && status.deprecatedEpoch < status.syncedEpoch;
    this.#requests.set(text, { jobSetUid, text, epoch: runs ? status.syncedEpoch : 0, carriedOut: false });
  }

  /** This status ends its epoch. Returns whether a request is the reason. */
  epochEnds(jobSetUid: string, { history, syncedEpoch }: InPlaceRestartStatus): boolean {
    const record = history.at(-1);
    if (record?.cause.reason !== "Requested" || record.fromEpoch !== syncedEpoch) return false;
    if (record.counted) this.#breach(`the request ${record.cause.request} was counted as a restart`);
    const request = this.#requests.get(record.cause.request ?? "");
    if (request?.jobSetUid !== jobSetUid) this.#breach(`epoch ${record.fromEpoch} ended without such a request`);
    else if (request.carriedOut) this.#breach(`the request ${request.text} was carried out twice`);
    else request.carriedOut = true;
    return true;
  }

  /** The object was lost. Of all requests, the new one knows only the text that the JobSet has now. */
  objectLost({ handledRequests = [], syncedEpoch }: InPlaceRestartStatus): void {
    for (const request of this.#requests.values()) {
      if (!handledRequests.includes(request.text)) request.carriedOut = false;
      // No Pod was left, and epochs are counted from the beginning again.
      if (syncedEpoch === 0) request.epoch = 0;
    }
  }

  /** A request of this JobSet after which the same epoch still runs. */
  unanswered(jobSetUid: string, { syncedEpoch }: Epochs): string | undefined {
    return [...this.#requests.values()].find((each) => each.jobSetUid === jobSetUid && each.epoch === syncedEpoch)
      ?.text;
  }
}
