import { expect, it } from "vitest";
import { decideUpstream } from "./upstream-decide.ts";

const jobSet = (current?: number, previous?: number) => ({
  status: { currentInPlaceRestartAttempt: current, previousInPlaceRestartAttempt: previous },
});

it("the first attempt of a JobSet is 0, and later ones follow the current one", () => {
  expect(decideUpstream({ isLifted: false }, jobSet())).toEqual({ kind: "publish", attempt: 0 });
  expect(decideUpstream({ isLifted: false }, jobSet(4, 3))).toEqual({ kind: "publish", attempt: 5 });
});

it("the barrier lifts once, when the attempt is the current one", () => {
  expect(decideUpstream({ attempt: 5, isLifted: false }, jobSet(4, 4))).toEqual({ kind: "wait" });
  expect(decideUpstream({ attempt: 5, isLifted: false }, jobSet(5, 4))).toEqual({ kind: "lift" });
  expect(decideUpstream({ attempt: 5, isLifted: true }, jobSet(5, 4))).toEqual({ kind: "wait" });
});

it("an outdated attempt ends the agent", () => {
  expect(decideUpstream({ attempt: 4, isLifted: true }, jobSet(4, 4))).toEqual({ kind: "exit" });
});
