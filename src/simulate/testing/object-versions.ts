// The versions of the small model's InPlaceRestart, by number; 0 when there is none. Equal content has the same number,
// so that states which differ only in how often a status was written count as one. The GroupEpoch has the number of the
// first version with its epochs.
import { type GroupView, type Identity, viewGroupEpoch } from "../../../agent/decide.ts";
import type { StoredObject } from "../api-server.ts";
import { JOB_SET } from "../shape.ts";

export type Status = StoredObject["status"];

export class ObjectVersions {
  readonly #owner: Identity;
  readonly #objects: (StoredObject | undefined)[] = [undefined];
  readonly #numbers = new Map<string, number>();
  readonly #firstWithEpochs = new Map<string, number>();
  /** How agents see each version, once they were told. */
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

  /** The GroupEpoch for this version; 0 if there is nothing to tell yet. */
  toldAs(version: number): number {
    const status = this.#objects[version]?.status;
    if (status === undefined) return 0;
    const key = `${status.deprecatedEpoch} ${status.syncedEpoch} ${status.heldStages}`;
    const known = this.#firstWithEpochs.get(key) ?? version;
    this.#firstWithEpochs.set(key, known);
    return known;
  }

  view(version: number): GroupView {
    const status = this.#objects[version]?.status;
    const told = status === undefined ? undefined : { spec: { ...status, version } };
    const known = this.#views[version] ?? viewGroupEpoch(told);
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
