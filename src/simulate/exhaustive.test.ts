// Explores everything that can happen to two Pods with one or two faults, in every order that agents, kubelets, watches
// and the controller allow. The random simulation tries more kinds of faults on larger groups; this one leaves nothing
// out.
import { describe, expect, it } from "vitest";
import { explore } from "./testing/explore.ts";
import { SmallModel } from "./testing/small-model.ts";
import type { Fault } from "./testing/small-state.ts";

// In every order: no epoch moves back, the workers of an epoch start together, and every state leads to a running
// group.
describe("in every order of events, two Pods keep the protocol", () => {
  it.each<readonly Fault[][]>([
    [[]],
    [["kill-agent"]],
    [["kill-controller"]],
    [["kill-new-agent"]],
    [["kill-agent-at-barrier"]],
  ])("while the group starts, with faults %j", (faults) => {
    expect(explore(new SmallModel("start", faults)).breaches).toEqual([]);
  });

  it.each<readonly Fault[][]>([
    [["kill-worker"]],
    [["kill-agent"]],
    [["kill-worker", "kill-controller"]],
    [["kill-agent", "kill-controller"]],
    [["kill-worker", "kill-worker"]],
    [["kill-worker", "kill-agent"]],
    [["kill-worker", "kill-new-agent"]],
    [["kill-worker", "kill-agent-at-barrier"]],
  ])("while the group runs, and each failure is part of one counted restart, with faults %j", (faults) => {
    expect(explore(new SmallModel("running", faults)).breaches).toEqual([]);
  });

  it.each<readonly Fault[][]>([
    [["hang"]],
    [["pause"]],
    [["hang", "kill-controller"]],
    [["pause", "kill-controller"]],
    [["hang", "kill-agent"]],
    [["pause", "kill-worker"]],
  ])("while its workers make no progress, and a hang is part of one counted restart, with faults %j", (faults) => {
    expect(explore(new SmallModel("running", faults)).breaches).toEqual([]);
  });

  it.each<readonly Fault[][]>([
    [["evict-pod"]],
    [["evict-pod", "kill-controller"]],
    [["evict-pod", "kill-new-agent"]],
    [["evict-pod", "kill-agent-at-barrier"]],
  ])("while a Pod of the running group is evicted and saves its work, with faults %j", (faults) => {
    expect(explore(new SmallModel("running", faults)).breaches).toEqual([]);
  });
});
