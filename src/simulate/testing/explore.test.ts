import { describe, expect, it } from "vitest";
import { explore, type Model, type Step } from "./explore.ts";

/** Counts from 0 to 3, where it settles. */
function counting(change: Partial<Model<number>> = {}): Model<number> {
  return {
    beginning: 0,
    key: String,
    steps: (state) => (state < 3 ? [up(state)] : []),
    isSettled: (state) => state === 3,
    judge: () => undefined,
    ...change,
  };
}

function up(state: number): Step<number> {
  return { what: `up from ${state}`, next: state + 1, isFault: false };
}

describe("an exploration", () => {
  it("finds every state once", () => {
    expect(explore(counting())).toEqual({ states: 4, settled: 1, breaches: [] });
  });

  it("reports the shortest path to a step that violates an invariant", () => {
    const steps = (state: number) => [{ ...up(state), breach: state === 1 ? "too high" : undefined }];
    expect(explore(counting({ steps: (state) => (state < 3 ? steps(state) : []) })).breaches).toEqual([
      "too high:\nup from 0\nup from 1",
    ]);
  });

  it("judges settled states only", () => {
    expect(explore(counting({ judge: (state) => `${state} is wrong` })).breaches).toEqual([
      "3 is wrong:\nup from 0\nup from 1\nup from 2",
    ]);
  });

  it("finds states that only a fault could lead out of", () => {
    const fault = (state: number) => [{ ...up(state), isFault: true }];
    const model = counting({ steps: (state) => (state === 2 ? fault(state) : state < 3 ? [up(state)] : []) });
    expect(explore(model).breaches).toEqual(["no path leads to a settled state from:\n"]);
  });
});
