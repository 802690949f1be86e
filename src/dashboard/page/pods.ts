// The Pods of the selected group, in the order of their slots, kept up to date by the stream.
import { type Events, POD_STATES, type PodState } from "../view/wire.ts";
import type { Stage } from "./grid-layout.ts";

export interface PodCell {
  readonly id: number;
  readonly name: string;
  readonly stage: string;
  readonly job: number;
  readonly index: number;
  node: string;
  state: PodState;
  /** -1 before it has one. */
  epoch: number;
  restarts: number;
  /** Among all Pods of the group. */
  position: number;
}

/** What must be drawn: everything, because Pods came or went, or these Pods. */
type Redraw = "all" | readonly PodCell[];

export class Pods {
  readonly #byId = new Map<number, PodCell>();
  #ordered: readonly PodCell[] = [];
  #stages: readonly Stage[] = [];

  get ordered(): readonly PodCell[] {
    return this.#ordered;
  }

  get stages(): readonly Stage[] {
    return this.#stages;
  }

  apply({ reset, added, changed, removed }: Events["pods"]): Redraw {
    if (reset) this.#byId.clear();
    for (const id of removed) this.#byId.delete(id);
    for (const [id, name, stage, job, index, node, state, epoch, restarts] of added) {
      const word = POD_STATES[state] ?? "pending";
      this.#byId.set(id, { id, name, stage, job, index, node, state: word, epoch, restarts, position: 0 });
    }
    const redraw: PodCell[] = [];
    for (const [id, node, state, epoch, restarts] of changed) {
      const cell = this.#byId.get(id);
      if (cell === undefined) continue;
      cell.node = node;
      cell.state = POD_STATES[state] ?? "pending";
      cell.epoch = epoch;
      cell.restarts = restarts;
      redraw.push(cell);
    }
    if (!reset && added.length + removed.length === 0) return redraw;
    this.#order();
    return "all";
  }

  countByState(): ReadonlyMap<PodState, number> {
    const counts = new Map<PodState, number>();
    for (const { state } of this.#ordered) counts.set(state, (counts.get(state) ?? 0) + 1);
    return counts;
  }

  /** The next Pod in this state after a position, beginning again at the first. */
  next(after: number, isWanted: (cell: PodCell) => boolean): PodCell | undefined {
    return this.#ordered.slice(after + 1).find(isWanted) ?? this.#ordered.find(isWanted);
  }

  #order(): void {
    this.#ordered = [...this.#byId.values()].sort(
      (a, b) => compare(a.stage, b.stage) || a.job - b.job || a.index - b.index || compare(a.name, b.name),
    );
    const stages: { name: string; first: number; count: number }[] = [];
    for (const [position, cell] of this.#ordered.entries()) {
      cell.position = position;
      const last = stages.at(-1);
      if (last?.name === cell.stage) last.count += 1;
      else stages.push({ name: cell.stage, first: position, count: 1 });
    }
    this.#stages = stages;
  }
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
