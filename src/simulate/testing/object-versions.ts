// The versions of the small model's InPlaceRestart, by number; 0 when there is none. Equal content has the same number,
// so that states which differ only in how often a status was written count as one.
import { type GroupView, type Identity, viewInPlaceRestart } from "../../../agent/decide.ts";
import type { StoredObject } from "../api-server.ts";
import { JOB_SET } from "../shape.ts";

export type Status = StoredObject["status"];

export class ObjectVersions {
  readonly #owner: Identity;
  readonly #objects: (StoredObject | undefined)[] = [undefined];
  readonly #numbers = new Map<string, number>();
  /** How agents see each version. */
  readonly #views: GroupView[] = [];

  /** All agents belong to one JobSet. */
  constructor(owner: Identity) {
    this.#owner = owner;
  }

  at(version: number): StoredObject | undefined {
    return this.#objects[version];
  }

  numberOf(status: Status): number {
    const key = JSON.stringify(status ?? {});
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const version = this.#objects.length;
    this.#numbers.set(key, version);
    const metadata = { name: JOB_SET, namespace: "default", uid: "object", resourceVersion: String(version) };
    this.#objects.push({
      metadata,
      spec: { jobSetUID: this.#owner.jobSetUid },
      ...(status === undefined ? {} : { status }),
    });
    return version;
  }

  view(version: number): GroupView {
    const known = this.#views[version] ?? viewInPlaceRestart(this.#objects[version], this.#owner);
    this.#views[version] = known;
    return known;
  }

  describe(version: number): string {
    const object = this.#objects[version];
    if (object === undefined) return "no object";
    if (object.status === undefined) return "an object without status";
    const { deprecatedEpoch, syncedEpoch, restarts, phase, ready } = object.status;
    return `deprecated ${deprecatedEpoch}, synced ${syncedEpoch}, restarts ${restarts}, ${phase} ${ready}`;
  }
}
