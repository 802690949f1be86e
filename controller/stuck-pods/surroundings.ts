// What has to be known of the cluster to judge a Pod that does not end: which nodes are unreachable, where Pods are opted in, and
// whether the brake holds. Plain data, kept up to date by the watches; decisions only read it.
import type { Node, Unreachable } from "../../src/api/node.ts";
import { isBraked } from "./brake.ts";
import type { StuckPodsSettings } from "./settings.ts";

export interface Surroundings {
  readonly settings: StuckPodsSettings;
  /** By the node's name. */
  readonly unreachable: ReadonlyMap<string, Unreachable>;
  /** Too many nodes are unreachable at once: nothing is freed. */
  readonly braked: boolean;
  /** Since when the brake is known not to hold: nodes come back one after another. Milliseconds since 1970. */
  readonly settledAt: number;
  /** Namespaces with the opt-in label. */
  readonly optedIn: ReadonlySet<string>;
}

/** Where nothing is wrong, and nothing is opted in. */
export const CALM: Surroundings = {
  settings: { enabled: false, threshold: 0, brake: 1 },
  unreachable: new Map(),
  braked: false,
  settledAt: 0,
  optedIn: new Set(),
};

/** Surroundings as the watches tell them. Times are milliseconds since 1970. */
export class ObservedSurroundings implements Surroundings {
  readonly settings: StuckPodsSettings;
  readonly unreachable = new Map<string, Unreachable>();
  readonly optedIn = new Set<string>();
  readonly #nodes = new Set<string>();
  #settledAt: number;

  /** Whether the brake held before `now`, its beginning, nobody knows. */
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

  /** Whether a Pod may be judged differently now. Most changes of a node are reports that say nothing new. */
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
