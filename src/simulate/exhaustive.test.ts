// Everything that can happen to two Pods with one or two faults, in every order that agents, kubelets, watches and the
// controller allow. The random simulation tries more kinds of faults on larger groups; this one leaves nothing out.
import { describe, expect, it } from "vitest";
import { explore } from "./testing/explore.ts";
import { type Fault, SmallModel } from "./testing/small-model.ts";

describe("in whatever order things happen, no epoch moves back, workers of one epoch start together, and every state leads to a running group", () => {
  it.each<readonly Fault[][]>([[[]], [["kill-agent"]], [["kill-controller"]], [["kill-agent-at-barrier"]]])(
    "when a group starts: %j",
    (faults) => {
      expect(explore(new SmallModel("start", faults)).breaches).toEqual([]);
    },
  );

  it.each<readonly Fault[][]>([
    [["kill-worker"]],
    [["kill-agent"]],
    [["kill-worker", "kill-controller"]],
    [["kill-agent", "kill-controller"]],
    [["kill-worker", "kill-worker"]],
    [["kill-worker", "kill-agent"]],
    [["kill-worker", "kill-agent-at-barrier"]],
  ])("when a group runs, and each failure is part of one counted restart: %j", (faults) => {
    expect(explore(new SmallModel("running", faults)).breaches).toEqual([]);
  });
});
