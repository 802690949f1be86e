// Observes a simulated run from outside, knows its true state, and records every violation of the protocol's
// invariants.
import type { StoredGroupEpoch, StoredObject } from "./api-server.ts";
import { RequestJudge } from "./request-judge.ts";
import type { Training } from "./training.ts";

type Status = NonNullable<StoredObject["status"]>;

/** A worker process that is running. */
interface RunningWorker {
  readonly pod: string;
  readonly jobSetUid: string;
  readonly stage: string;
  readonly epoch: number;
}

/** A worker that got SIGTERM because its Pod is deleted, and saves its work together with its peers. */
interface Saver {
  readonly worker: RunningWorker;
  /** By then every controller has seen that the Pod is going away. */
  readonly visibleAt: number;
  /** Peers of the same epoch that were restarted in place meanwhile. */
  readonly lostPeers: string[];
}

export class Judge {
  readonly #tell: (breach: string) => void;
  readonly #now: () => number;
  readonly #training: Training | undefined;
  readonly #running = new Map<string, RunningWorker>();
  readonly #savers = new Map<string, Saver>();
  /** By JobSet and epoch. */
  readonly #failed = new Set<string>();
  readonly #departed = new Set<string>();
  /** Of each Pod that was disrupted, by its UID. */
  readonly #disrupted = new Map<string, string>();
  readonly #endedAt = new Map<string, number>();
  /** When every controller has seen that the JobSet is suspended. */
  #suspensionVisibleAt = Number.POSITIVE_INFINITY;
  #jobSetUid = "";
  /** The highest epoch published for each slot of the current JobSet, by stage; infinite once the slot succeeded. */
  readonly #reached = new Map<string, Map<string, number>>();
  /** The epochs of each InPlaceRestart, by its UID and version. */
  readonly #decided = new Map<string, string>();
  readonly #breaches: string[] = [];
  readonly requests = new RequestJudge((breach) => this.#breach(breach));

  /** `now` in milliseconds since the start. */
  constructor(tell: (breach: string) => void, now: () => number, training?: Training) {
    this.#tell = tell;
    this.#now = now;
    this.#training = training;
  }

  get breaches(): readonly string[] {
    return this.#breaches;
  }

  /** Workers of the current JobSet. */
  get running(): readonly RunningWorker[] {
    return [...this.#running.values()].filter(({ jobSetUid }) => jobSetUid === this.#jobSetUid);
  }

  /** A JobSet was created, or all of its Jobs recreated: no slot has published an epoch. Slots are given by stage. */
  reset(jobSetUid: string, slots: ReadonlyMap<string, readonly string[]>): void {
    // A JobSet that was created again is not suspended.
    if (jobSetUid !== this.#jobSetUid) this.jobSetResumed();
    this.#jobSetUid = jobSetUid;
    this.#reached.clear();
    for (const [stage, names] of slots) this.#reached.set(stage, new Map(names.map((name) => [name, 0])));
  }

  slotReached(jobSetUid: string, slot: string, epoch: number): void {
    if (jobSetUid !== this.#jobSetUid) return;
    for (const slots of this.#reached.values()) {
      const before = slots.get(slot);
      if (before !== undefined) slots.set(slot, Math.max(epoch, before));
    }
  }

  workerStarted(uid: string, worker: RunningWorker): void {
    const { pod, jobSetUid, stage, epoch } = worker;
    const slots = jobSetUid === this.#jobSetUid ? this.#reached.get(stage) : undefined;
    for (const [slot, reached] of slots ?? []) {
      if (reached >= epoch) continue;
      this.#breach(`worker of ${pod} started in epoch ${epoch} before slot ${slot} reached it (${reached})`);
    }
    for (const other of this.#running.values()) {
      if (other.jobSetUid !== jobSetUid || other.epoch === epoch) continue;
      this.#breach(
        `worker of ${pod} started in epoch ${epoch} while that of ${other.pod} runs in epoch ${other.epoch}`,
      );
    }
    this.#running.set(uid, worker);
  }

  /** Without its group, because reprise was removed: no epoch is waited for. */
  workerStartedAlone(uid: string, worker: RunningWorker): void {
    this.#running.set(uid, worker);
  }

  workerEnded(uid: string): void {
    const worker = this.#running.get(uid);
    if (worker !== undefined) this.#departed.add(epochKey(worker));
    this.#running.delete(uid);
    this.#savers.delete(uid);
  }

  /** A Pod of this epoch ended, even if its worker never ran. */
  podEnded(jobSetUid: string, epoch: number): void {
    this.#departed.add(epochKey({ jobSetUid, epoch }));
  }

  /** A worker or an agent of this epoch ended by itself, and not because it was told to. */
  epochFailed(jobSetUid: string, epoch: number): void {
    this.#failed.add(epochKey({ jobSetUid, epoch }));
  }

  /** The Pod is evicted, or its node has no power. */
  podDisrupted(uid: string): void {
    const worker = this.#running.get(uid);
    if (worker !== undefined) this.#disrupted.set(uid, epochKey(worker));
  }

  /** Also if it was evicted before: then its work was done, and the group lost nothing. */
  podSucceeded(uid: string): void {
    this.#disrupted.delete(uid);
  }

  /** Its Pod is deleted, and the worker got SIGTERM. */
  saveBegan(uid: string, visibleAt: number): void {
    const worker = this.#running.get(uid);
    if (worker !== undefined) this.#savers.set(uid, { worker, visibleAt, lostPeers: [] });
  }

  /** The worker has saved its work, or has used up its grace period. */
  saveEnded(uid: string): void {
    const { worker, visibleAt, lostPeers } = this.#savers.get(uid) ?? {};
    if (worker === undefined || visibleAt === undefined || lostPeers === undefined || lostPeers.length === 0) return;
    const key = epochKey(worker);
    // An epoch that ended before the deletion was visible could not have gone on.
    if (this.#failed.has(key) || (this.#endedAt.get(key) ?? 0) <= visibleAt) return;
    this.#breach(`${worker.pod} saved its work without ${lostPeers.join(", ")}, restarted in place meanwhile`);
  }

  /** The kubelet stops a running worker to restart its Pod in place. */
  workerKilled(uid: string): void {
    const killed = this.#running.get(uid);
    if (killed === undefined) return;
    for (const [saver, { worker, lostPeers }] of this.#savers)
      if (saver !== uid && epochKey(worker) === epochKey(killed)) lostPeers.push(killed.pod);
  }

  jobSetSuspended(visibleAt: number): void {
    this.#suspensionVisibleAt = visibleAt;
  }

  jobSetResumed(): void {
    this.#suspensionVisibleAt = Number.POSITIVE_INFINITY;
  }

  /** The JobSet fails, after this epoch has ended. */
  jobSetFailed(jobSetUid: string, epoch: number): void {
    if ([...this.#disrupted.values()].includes(epochKey({ jobSetUid, epoch })))
      this.#breach(`the JobSet failed because of a disruption in epoch ${epoch}`);
  }

  objectWritten(before: StoredObject | undefined, after: StoredObject): void {
    const [old, status] = [before?.status, after.status];
    if (status === undefined) return;
    const { uid, resourceVersion } = after.metadata;
    this.#decided.set(versionKey(uid, resourceVersion), epochsText(status));
    if (status.deprecatedEpoch > status.syncedEpoch) this.#breach("deprecatedEpoch is above syncedEpoch");
    // Epochs are counted from the beginning again: the object was lost, and no Pod had an epoch.
    if (old === undefined && status.syncedEpoch === 0)
      for (const known of [this.#failed, this.#departed, this.#disrupted]) known.clear();
    if (old === undefined) {
      this.requests.objectLost(status);
      return;
    }
    if (status.syncedEpoch < old.syncedEpoch) this.#breach("syncedEpoch moved back");
    if (status.deprecatedEpoch < old.deprecatedEpoch) this.#breach("deprecatedEpoch moved back");
    if (status.restarts < old.restarts) this.#breach("restarts moved back");
    if (status.restarts > old.restarts + 1) this.#breach("one write counted several restarts");
    const ends = old.deprecatedEpoch < old.syncedEpoch && status.deprecatedEpoch === old.syncedEpoch;
    const { jobSetUID } = after.spec;
    if (!ends) return;
    const isRequested = this.requests.epochEnds(jobSetUID, status);
    const isHung = this.#training?.epochEnds(status) === true;
    this.#epochEnds(jobSetUID, old.syncedEpoch, isRequested || isHung || old.heldStages.length > 0);
  }

  /** A GroupEpoch shows only what its InPlaceRestart has said, and never what it said before. */
  agentsTold(before: StoredGroupEpoch | undefined, { metadata, spec }: StoredGroupEpoch): void {
    const decided = this.#decided.get(versionKey(metadata.owner, spec.version));
    if (decided !== epochsText(spec))
      this.#breach(`agents were told ${epochsText(spec)}, but version ${spec.version} says ${decided ?? "nothing"}`);
    if (before !== undefined && spec.version < before.spec.version)
      this.#breach(`agents were told version ${spec.version} after version ${before.spec.version}`);
  }

  /** Every worker of the epoch that still runs is about to be killed, with 2 s to save its work. */
  #epochEnds(jobSetUid: string, epoch: number, mayEndByItself: boolean): void {
    const key = epochKey({ jobSetUid, epoch });
    const now = this.#now();
    this.#endedAt.set(key, now);
    const running = [...this.#running.values()].filter((worker) => epochKey(worker) === key);
    if (running.length === 0) return;
    if (now > this.#suspensionVisibleAt)
      this.#breach(`epoch ${epoch} ended while Pods of a suspended JobSet run in it`);
    if (this.#failed.has(key)) return;
    const saver = [...this.#savers.values()].find((each) => epochKey(each.worker) === key && now > each.visibleAt);
    if (saver !== undefined) this.#breach(`epoch ${epoch} ended while ${saver.worker.pod} saves its work`);
    // The first Pods of a stage that starts later may restart the others, and so may a user.
    if (!this.#departed.has(key) && !mayEndByItself) this.#breach(`epoch ${epoch} ended although nothing ended in it`);
  }

  /** For judges of their own promises. */
  report(breach: string): void {
    this.#breach(breach);
  }

  #breach(what: string): void {
    this.#tell(what);
    this.#breaches.push(what);
  }
}

function versionKey(owner: string, version: string | number): string {
  return `${owner} ${version}`;
}

function epochsText({ deprecatedEpoch, syncedEpoch, heldStages }: StoredGroupEpoch["spec"] | Status): string {
  return `deprecated ${deprecatedEpoch}, synced ${syncedEpoch}, held ${heldStages.join(" ")}`;
}

function epochKey({ jobSetUid, epoch }: Pick<RunningWorker, "jobSetUid" | "epoch">): string {
  return `${jobSetUid} ${epoch}`;
}
