// Virtual time: a queue of callbacks. Those due at the same time run in the order in which they were added.

interface Planned {
  readonly at: number;
  readonly order: number;
  readonly happen: () => void;
}

export class Schedule {
  readonly #heap: Planned[] = [];
  #order = 0;
  #now = 0;

  /** Milliseconds since the start. */
  get now(): number {
    return this.#now;
  }

  after(delayMs: number, happen: () => void): void {
    this.#push({ at: this.#now + Math.max(0, delayMs), order: this.#order, happen });
    this.#order += 1;
  }

  /** Runs everything due up to `end`, or until `isOver` returns true after a callback. */
  runUntil(end: number, isOver: () => boolean): void {
    for (let next = this.#heap[0]; next !== undefined && next.at <= end; next = this.#heap[0]) {
      this.#pop();
      this.#now = next.at;
      next.happen();
      if (isOver()) return;
    }
    this.#now = end;
  }

  #push(planned: Planned): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(planned);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || !isBefore(planned, parent)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = planned;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      const [left, right] = [heap[down], heap[down + 1]];
      if (left === undefined) break;
      let child = left;
      if (right !== undefined && isBefore(right, left)) {
        child = right;
        down += 1;
      }
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = down;
    }
    heap[at] = last;
  }
}

function isBefore(a: Planned, b: Planned): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
