// Tells agents the epochs of their group: writes its GroupEpoch after the InPlaceRestart. A replica that is not the
// leader any more, or whose cache is stale, offers an older version, which the API server refuses (manifests/crd).
import { GROUP_EPOCH, type GroupEpoch } from "../../src/api/group-epoch.ts";
import type { InPlaceRestart } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { hasStatus } from "../../src/kube/api-error.ts";
import { MERGE_PATCH } from "../../src/kube/client.ts";
import { afterTelling, epochsFor, nextTelling, type Told } from "../tell-agents.ts";
import { ownedByObject, type WritingClient } from "./fenced-writes.ts";

const API = `${GROUP_EPOCH.group}/${GROUP_EPOCH.version}`;

/** When to try again if no change comes first. A watch that lags shows the newer version long before. */
const STALE_MS = 10_000;

/** Removes the record of who wrote which field: it would be as large as all the rest, and every agent would get it. */
const NO_MANAGED_FIELDS = [{}];

export class AgentEpochs {
  readonly #client: WritingClient;
  readonly #now: () => number;
  /** By the key of the group. */
  readonly #told = new Map<string, Told>();

  constructor(client: WritingClient, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /** Returns the delay to the next check in milliseconds. Tells nothing if agents know all that the object says. */
  async ensure(
    key: string,
    jobSet: JobSet,
    object: InPlaceRestart | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const epochs = epochsFor(jobSet, object);
    // The agents of a JobSet that has ended restart nothing.
    if (object === undefined || epochs === undefined || jobSet.outcome !== "none") return undefined;
    const told = this.#told.get(key);
    const telling = nextTelling(object.uid, epochs, told, this.#now());
    if (telling.kind === "rest") return telling.ms;
    if (!(await this.#tell(jobSet, object, telling.epochs, signal))) return STALE_MS;
    const now = this.#now();
    const known = afterTelling(object.uid, telling.epochs, told, now);
    this.#told.set(key, known);
    const next = nextTelling(object.uid, epochs, known, now);
    return next.kind === "rest" ? next.ms : 0;
  }

  /** The JobSet is gone; the GroupEpoch is garbage-collected. */
  forget(key: string): void {
    this.#told.delete(key);
  }

  /** False if the API server has a newer version. */
  async #tell(jobSet: JobSet, object: InPlaceRestart, spec: GroupEpoch, signal: AbortSignal): Promise<boolean> {
    const path = `/apis/${API}/namespaces/${jobSet.namespace}/${GROUP_EPOCH.plural}`;
    // With the owner: the object of an InPlaceRestart that was lost goes on as that of its successor.
    const metadata = { ownerReferences: [ownedByObject(object)], managedFields: NO_MANAGED_FIELDS };
    try {
      const body = { metadata, spec };
      await this.#client.request("PATCH", `${path}/${jobSet.uid}`, { body, contentType: MERGE_PATCH, signal });
    } catch (error) {
      if (hasStatus(error, 422)) return false;
      if (!hasStatus(error, 404)) throw error;
      // It would outlive the JobSet: the garbage collector has already looked for what it owns.
      if (jobSet.deletionTimestamp !== undefined) return true;
      const body = { apiVersion: API, kind: GROUP_EPOCH.kind, metadata: { ...metadata, name: jobSet.uid }, spec };
      await this.#client.request("POST", path, { body, signal });
    }
    return true;
  }
}
