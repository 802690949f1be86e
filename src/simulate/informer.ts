// One watch of a simulated controller. What the API server sends goes through the real cache, so that changes reach the
// controller in the form and order in which the real watches deliver them.

import type { Change } from "../api/change.ts";
import type { Identity } from "../api/metadata.ts";
import type { JsonObject } from "../json/types.ts";
import { type Observed, ProjectedCache } from "../kube/projected-cache.ts";
import type { ApiServer, Kind, Kinds } from "./api-server.ts";

export class Informer<K extends Kind, T extends Identity> {
  readonly #api: ApiServer;
  readonly #kind: K;
  readonly #read: (stored: Kinds[K]) => T;
  readonly #onChange: (change: Change<T>) => void;
  readonly #cache = new ProjectedCache<T>(neverRaw);

  constructor(api: ApiServer, kind: K, read: (stored: Kinds[K]) => T, onChange: (change: Change<T>) => void) {
    this.#api = api;
    this.#kind = kind;
    this.#read = read;
    this.#onChange = onChange;
  }

  list(): void {
    const listed = this.#api.list(this.#kind).map((stored) => this.#see(stored));
    const byKey = new Map(listed.map((observed) => [observed.key, observed]));
    for (const change of this.#cache.replace(byKey, new Set())) this.#onChange(change);
  }

  /** Returns how to stop. `onEvent` is called after the changes of each event. */
  watch(onEvent: () => void): () => void {
    return this.#api.watch(this.#kind, ({ type, value }) => {
      const observed = this.#see(value);
      const changes = type === "deleted" ? this.#cache.remove(observed, observed) : this.#cache.upsert(observed);
      for (const change of changes) this.#onChange(change);
      onEvent();
    });
  }

  #see(stored: Kinds[K]): Observed<T> {
    const item = this.#read(stored);
    const { namespace, name, uid, resourceVersion } = item;
    return { key: `${namespace}/${name}`, uid, resourceVersion, item };
  }
}

/** The simulated API server stores what the real cache keeps, not what the real API server sends. */
function neverRaw(_raw: JsonObject): never {
  throw new Error("the simulation has no raw objects");
}
