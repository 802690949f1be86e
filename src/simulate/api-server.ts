// The API server of a simulation: versioned objects, requests that take time or fail, and watches that lag. Events of
// one watch arrive in order; there is no order between watches.
import type { GroupEpoch } from "../api/group-epoch.ts";
import type { InPlaceRestartStatus } from "../api/in-place-restart.ts";
import type { Job } from "../api/job.ts";
import type { JobSet } from "../api/jobset.ts";
import type { Pod } from "../api/pod.ts";
import type { Random } from "./random.ts";
import type { Schedule } from "./schedule.ts";

/** The InPlaceRestart as stored. */
export interface StoredObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  readonly spec: { readonly jobSetUID: string };
  readonly status?: InPlaceRestartStatus;
}

/** The GroupEpoch as stored, and as agents read it. */
export interface StoredGroupEpoch {
  /** `name` is the UID of the JobSet, `owner` that of the InPlaceRestart. */
  readonly metadata: { readonly name: string; readonly owner: string };
  readonly spec: GroupEpoch;
}

export interface Kinds {
  readonly jobSet: JobSet;
  readonly job: Job;
  readonly pod: Pod;
  readonly object: StoredObject;
  readonly groupEpoch: StoredGroupEpoch;
}
export type Kind = keyof Kinds;

export type Change<K extends Kind> =
  | { readonly type: "set"; readonly value: Kinds[K] }
  | { readonly type: "deleted"; readonly value: Kinds[K] };

/** Why a request failed. After "unreachable" it may have taken effect all the same: only the response was lost. */
export type Refusal = "conflict" | "not-found" | "exists" | "unreachable";

/** A slow watch lags by up to 3 s, and one that reconnects by up to 1 s. */
const LONGEST_LAG_MS = 5_000;

interface Watcher<K extends Kind> {
  readonly deliver: (change: Change<K>) => void;
  readyAt: number;
  open: boolean;
}

export class ApiServer {
  readonly #schedule: Schedule;
  readonly #random: Random;
  readonly #stores: { readonly [K in Kind]: Map<string, Kinds[K]> } = {
    jobSet: new Map(),
    job: new Map(),
    pod: new Map(),
    object: new Map(),
    groupEpoch: new Map(),
  };
  readonly #watchers: { readonly [K in Kind]: Set<Watcher<K>> } = {
    jobSet: new Set(),
    job: new Set(),
    pod: new Set(),
    object: new Set(),
    groupEpoch: new Set(),
  };
  #version = 0;
  #outageUntil = 0;
  #slowUntil = 0;

  constructor(schedule: Schedule, random: Random) {
    this.#schedule = schedule;
    this.#random = random;
  }

  /** Makes the server unreachable for a while. */
  breakFor(ms: number): void {
    this.#outageUntil = Math.max(this.#outageUntil, this.#schedule.now + ms);
  }

  /** Watches lag by seconds for a while. */
  slowDownFor(ms: number): void {
    this.#slowUntil = Math.max(this.#slowUntil, this.#schedule.now + ms);
  }

  get isDown(): boolean {
    return this.#schedule.now < this.#outageUntil;
  }

  /** Whether watches have caught up, and show every change within milliseconds. */
  get isSteady(): boolean {
    return this.#schedule.now > Math.max(this.#outageUntil, this.#slowUntil) + LONGEST_LAG_MS;
  }

  /** When the last outage is over, in milliseconds since the start. */
  get outageUntil(): number {
    return this.#outageUntil;
  }

  nextVersion(): string {
    this.#version += 1;
    return String(this.#version);
  }

  get<K extends Kind>(kind: K, key: string): Kinds[K] | undefined {
    return this.#stores[kind].get(key);
  }

  list<K extends Kind>(kind: K): readonly Kinds[K][] {
    return [...this.#stores[kind].values()];
  }

  set<K extends Kind>(kind: K, key: string, value: Kinds[K]): void {
    this.#stores[kind].set(key, value);
    this.#announce(kind, { type: "set", value });
  }

  /** The deletion event carries the last state: the one given, or the stored one. */
  delete<K extends Kind>(kind: K, key: string, last?: Kinds[K]): void {
    const stored = this.#stores[kind].get(key);
    if (stored === undefined) return;
    this.#stores[kind].delete(key);
    this.#announce(kind, { type: "deleted", value: last ?? stored });
  }

  /** Sends every existing object, then every change, each after its own delay. Returns a function that stops it. */
  watch<K extends Kind>(kind: K, deliver: (change: Change<K>) => void): () => void {
    const watcher: Watcher<K> = { deliver, readyAt: 0, open: true };
    this.#watchers[kind].add(watcher);
    for (const value of this.list(kind)) this.#send(watcher, { type: "set", value });
    return () => {
      watcher.open = false;
      this.#watchers[kind].delete(watcher);
    };
  }

  /** `atServer` runs when the request arrives; `answer` gets the response, or "unreachable" in an outage. */
  request<T>(atServer: () => T | Refusal, answer: (result: T | Refusal) => void): void {
    const requestMs = this.#random.between(1, 15);
    const responseMs = this.#random.between(1, 15);
    this.#schedule.after(requestMs, () => {
      if (this.isDown) {
        this.#schedule.after(200, () => answer("unreachable"));
        return;
      }
      const result = atServer();
      this.#schedule.after(responseMs, () => answer(this.isDown ? "unreachable" : result));
    });
  }

  #announce<K extends Kind>(kind: K, change: Change<K>): void {
    for (const watcher of this.#watchers[kind]) this.#send(watcher, change);
  }

  #send<K extends Kind>(watcher: Watcher<K>, change: Change<K>): void {
    const { now } = this.#schedule;
    const slow = now < this.#slowUntil ? this.#random.between(0, 3_000) : 0;
    // An outage delays events until the watch has reconnected.
    const resumed = this.isDown ? this.#outageUntil - now + this.#random.between(50, 1_000) : 0;
    const at = now + resumed + slow + this.#random.between(1, 20);
    watcher.readyAt = Math.max(watcher.readyAt, at);
    this.#schedule.after(watcher.readyAt - now, () => {
      if (watcher.open) watcher.deliver(change);
    });
  }
}
