// Visits every state that a small model can reach, and reports what is wrong, with the shortest path to it.

export interface Model<S> {
  readonly beginning: S;
  /** Equal for two states only if everything that can follow is equal. */
  key(state: S): string;
  steps(state: S): readonly Step<S>[];
  /** Whether the state is good and nothing is left to do. */
  isSettled(state: S): boolean;
  /** What is wrong with a settled state. */
  judge(state: S): string | undefined;
}

export interface Step<S> {
  readonly what: string;
  readonly next: S;
  /** It may happen, but progress must not depend on it. */
  readonly isFault: boolean;
  /** The invariant that this step violates. */
  readonly breach?: string | undefined;
}

interface Exploration {
  readonly states: number;
  readonly settled: number;
  /** Violations, each with the path to it; empty for a correct model. */
  readonly breaches: readonly string[];
}

/** Enough to see a pattern; further ones usually have the same cause. */
const MOST_BREACHES = 3;

export function explore<S>(model: Model<S>): Exploration {
  const found = new Found(model.beginning, model.key(model.beginning));
  const breaches: string[] = [];
  const settled: number[] = [];
  for (let index = 0; index < found.states.length && breaches.length < MOST_BREACHES; index += 1) {
    const state = found.states[index] as S;
    if (model.isSettled(state)) {
      settled.push(index);
      const wrong = model.judge(state);
      if (wrong !== undefined) breaches.push(`${wrong}:\n${found.wayTo(index)}`);
    }
    for (const { what, next, isFault, breach } of model.steps(state)) {
      if (breach !== undefined) breaches.push(`${breach}:\n${found.wayTo(index)}\n${what}`);
      found.add(index, what, next, model.key(next), isFault);
    }
  }
  if (breaches.length === 0) {
    const lost = found.firstWithoutWayTo(settled);
    if (lost !== undefined) breaches.push(`no path leads to a settled state from:\n${found.wayTo(lost)}`);
  }
  return { states: found.states.length, settled: settled.length, breaches };
}

class Found<S> {
  readonly states: S[];
  readonly #byKey: Map<string, number>;
  /** From where, and by which step, each state was found first. */
  readonly #from: { readonly index: number; readonly what: string }[] = [{ index: -1, what: "" }];
  /** The predecessors of each state by steps that are not faults. */
  readonly #before: number[][] = [[]];

  constructor(beginning: S, key: string) {
    this.states = [beginning];
    this.#byKey = new Map([[key, 0]]);
  }

  add(from: number, what: string, state: S, key: string, isFault: boolean): void {
    const index = this.#byKey.get(key) ?? this.states.length;
    if (index === this.states.length) {
      this.#byKey.set(key, index);
      this.states.push(state);
      this.#from.push({ index: from, what });
      this.#before.push([]);
    }
    if (!isFault) this.#before[index]?.push(from);
  }

  wayTo(index: number): string {
    const steps: string[] = [];
    for (let at = this.#from[index]; at !== undefined && at.index >= 0; at = this.#from[at.index])
      steps.unshift(at.what);
    return steps.join("\n");
  }

  firstWithoutWayTo(goals: readonly number[]): number | undefined {
    const reaches = new Uint8Array(this.states.length);
    const open = [...goals];
    for (const goal of goals) reaches[goal] = 1;
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      for (const before of this.#before[index] ?? []) {
        if (reaches[before] === 1) continue;
        reaches[before] = 1;
        open.push(before);
      }
    }
    const lost = reaches.indexOf(0);
    return lost === -1 ? undefined : lost;
  }
}
