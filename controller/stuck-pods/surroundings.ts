// What a decision about a stuck Pod needs to know about the cluster: which nodes are unreachable, which namespaces are
// opted in, and whether the brake is on. Plain data that the watches update; decisions only read it.
import type { Node, Unreachable } from "../../src/api/node.ts";
import { isBraked } from "./brake.ts";
import type { StuckPodsSettings } from "./settings.ts";

export interface Surroundings {
  readonly settings: StuckPodsSettings;
  /** By the node's name. */
  readonly unreachable: ReadonlyMap<string, Unreachable>;
  /** Too many nodes are unreachable at once: no Pod is freed. */
  readonly braked: boolean;
  /** Since when the brake is known to be off, in milliseconds since 1970. Nodes come back one after another. */
  readonly settledAt: number;
  /** Namespaces with the opt-in label. */
  readonly optedIn: ReadonlySet<string>;
}

/** A healthy cluster without opted-in namespaces. */
export const HEALTHY_CLUSTER: Surroundings = {
  settings: { enabled: false, threshold: 0, brake: 1 },
  unreachable: new Map(),
  braked: false,
  settledAt: 0,
  optedIn: new Set(),
};

/** Surroundings updated by the watches. Times are milliseconds since 1970. */
export class ObservedSurroundings implements Surroundings {
  readonly settings: StuckPodsSettings;
  readonly unreachable = new Map<string, Unreachable>();
  readonly optedIn = new Set<string>();
  readonly #nodes = new Set<string>();
  #settledAt: number;

  /** `now`: when observation starts. Whether the brake was on before is unknown. */
  constructor(settings: StuckPodsSettings, now: number) {
    this.settings = settings;
    this.#settledAt = now;
  }

  get settledAt(): number {
    return this.#settledAt;
  }

  get nodes(): number {
    return this.#nodes.size;
  }

  get braked(): boolean {
    return isBraked(this.unreachable.size, this.#nodes.size, this.settings.brake);
  }

  /** Returns whether a Pod may be judged differently now. Most updates of a node are heartbeats without news. */
  observeNode({ name, unreachable }: Node, now: number): boolean {
    return this.#change(name, now, () => {
      this.#nodes.add(name);
      if (unreachable === undefined) this.unreachable.delete(name);
      else this.unreachable.set(name, unreachable);
    });
  }

  forgetNode(name: string, now: number): boolean {
    return this.#change(name, now, () => {
      this.#nodes.delete(name);
      this.unreachable.delete(name);
    });
  }

  observeNamespace(name: string, optedIn: boolean): boolean {
    if (this.optedIn.has(name) === optedIn) return false;
    if (optedIn) this.optedIn.add(name);
    else this.optedIn.delete(name);
    return true;
  }

  #change(node: string, now: number, change: () => void): boolean {
    const [wasBraked, before] = [this.braked, this.unreachable.get(node)];
    change();
    const [isBraked, after] = [this.braked, this.unreachable.get(node)];
    if (wasBraked && !isBraked) this.#settledAt = now;
    return wasBraked !== isBraked || (before === undefined) !== (after === undefined) || before?.since !== after?.since;
  }
}
