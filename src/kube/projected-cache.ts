// The cache of a reflector: one projection per object, and nothing of the object itself. It turns lists and watch
// events into changes, and reports each version of an object at most once. No I/O.
import type { Change, Subject } from "../api/change.ts";
import type { JsonObject } from "../json/types.ts";
import { isJsonObject } from "./api-error.ts";

interface Entry<T> {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly item: T;
}

/** One object of a list or watch: its identity and its projection. */
export interface Observed<T> extends Entry<T> {
  readonly key: string;
}

export class ProjectedCache<T> {
  #entries = new Map<string, Entry<T>>();
  readonly #project: (raw: JsonObject) => T;

  constructor(project: (raw: JsonObject) => T) {
    this.#project = project;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.item;
  }

  *values(): Generator<T, void, undefined> {
    for (const { item } of this.#entries.values()) yield item;
  }

  /** Projects an object, or returns the projection of the same version. Throws what the projection throws. */
  observe(raw: JsonObject): Observed<T> {
    const { key, uid, resourceVersion } = identify(raw);
    const known = this.#entries.get(key);
    if (known?.uid === uid && known.resourceVersion === resourceVersion) return { key, ...known };
    return { key, uid, resourceVersion, item: this.#project(raw) };
  }

  /** Adds or updates an object. */
  *upsert({ key, uid, resourceVersion, item }: Observed<T>): Generator<Change<T>, void, undefined> {
    const known = this.#entries.get(key);
    if (known?.uid === uid && known.resourceVersion === resourceVersion) return;
    this.#entries.set(key, { uid, resourceVersion, item });
    if (known !== undefined && known.uid !== uid) {
      yield { kind: "deleted", key, uid: known.uid, item: known.item, old: known.item };
    }
    if (known?.uid === uid) yield { kind: "updated", key, uid, resourceVersion, item, old: known.item };
    else yield { kind: "added", key, uid, resourceVersion, item };
  }

  /** Removes an object, with its last state if that could be projected. A successor of the same name stays. */
  *remove({ key, uid }: Subject, last: Entry<T> | undefined): Generator<Change<T>, void, undefined> {
    const known = this.#entries.get(key);
    if (known?.uid !== uid) return;
    this.#entries.delete(key);
    yield { kind: "deleted", key, uid, item: (last ?? known).item, old: known.item };
  }

  /**
   * Applies a complete list: removes what is missing in it and compares the rest. Unprojectable objects keep their
   * state.
   */
  *replace(
    listed: ReadonlyMap<string, Observed<T>>,
    unprojectable: ReadonlySet<string>,
  ): Generator<Change<T>, void, undefined> {
    for (const [key, known] of this.#entries) {
      if (listed.has(key) || unprojectable.has(key)) continue;
      this.#entries.delete(key);
      yield { kind: "deleted", key, uid: known.uid, item: known.item, old: known.item };
    }
    for (const observed of listed.values()) yield* this.upsert(observed);
  }
}

/** Key, UID and version of a Kubernetes object. Throws if one is missing. */
export function identify(raw: JsonObject): Subject & { readonly resourceVersion: string } {
  const metadata = raw["metadata"];
  if (isJsonObject(metadata)) {
    const { namespace, name, uid, resourceVersion } = metadata;
    if (typeof name === "string" && typeof uid === "string" && typeof resourceVersion === "string") {
      return { key: typeof namespace === "string" ? `${namespace}/${name}` : name, uid, resourceVersion };
    }
  }
  throw new TypeError(`an object without metadata.name, uid and resourceVersion: ${JSON.stringify(raw).slice(0, 120)}`);
}
