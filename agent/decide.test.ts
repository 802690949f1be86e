import { describe, expect, it } from "vitest";
import { type AgentState, advance, decide, type GroupView, newAgent, viewGroupEpoch } from "./decide.ts";

const identity = { jobSetUid: "uid-1", replicatedJob: "workers" };
const fresh = newAgent(identity);
const taken: AgentState = { ...fresh, epoch: 5 };
const waiting: AgentState = { ...taken, published: true };
const running: AgentState = { ...waiting, lifted: true };

function group(deprecatedEpoch: number, syncedEpoch: number, heldStages: readonly string[] = []): GroupView {
  return { kind: "group", deprecatedEpoch, syncedEpoch, heldStages };
}

const WAIT = { kind: "wait" };
const NO_GROUP: GroupView[] = [{ kind: "absent" }, { kind: "foreign" }, { kind: "uninitialized" }];

describe("an agent without an epoch", () => {
  it.each(NO_GROUP)("waits while the object is $kind", (seen) => {
    expect(decide(fresh, seen)).toEqual(WAIT);
  });

  it("takes the epoch after the synced one", () => {
    expect(decide(fresh, group(3, 4))).toEqual({ kind: "take", epoch: 5 });
    expect(decide(fresh, group(0, 0))).toEqual({ kind: "take", epoch: 1 });
  });

  it("takes the epoch after the synced one also when everything up to it is deprecated", () => {
    expect(decide(fresh, group(4, 4))).toEqual({ kind: "take", epoch: 5 });
  });

  it("joins the running epoch while its replicatedJob is held: a late stage disturbs no other", () => {
    expect(decide(fresh, group(3, 4, ["workers"]))).toEqual({ kind: "take", epoch: 4 });
    expect(decide(fresh, group(3, 4, ["drivers"]))).toEqual({ kind: "take", epoch: 5 });
  });

  it("takes the next epoch while the group is between two, although its replicatedJob is held", () => {
    expect(decide(fresh, group(4, 4, ["workers"]))).toEqual({ kind: "take", epoch: 5 });
  });
});

describe("an agent that has taken an epoch", () => {
  it("publishes it", () => {
    expect(decide(taken, group(3, 4))).toEqual({ kind: "publish", epoch: 5 });
  });

  it("publishes before it lifts, even if the group was synced by the annotation of an earlier agent", () => {
    expect(decide(taken, group(3, 5))).toEqual({ kind: "publish", epoch: 5 });
  });

  it("restarts instead of publishing an epoch that was deprecated in between", () => {
    expect(decide(taken, group(5, 5))).toEqual({ kind: "restart" });
  });

  it.each(NO_GROUP)("publishes nothing while the object is $kind", (seen) => {
    expect(decide(taken, seen)).toEqual(WAIT);
  });
});

describe("an agent at the barrier", () => {
  it.each<[string, GroupView, string]>([
    ["waits for the sync of its epoch", group(3, 4), "wait"],
    ["lifts when its epoch is synced", group(3, 5), "lift"],
    ["lifts when its epoch is synced and all before it are deprecated", group(4, 5), "lift"],
    ["stays down while its replicatedJob is held", group(4, 5, ["drivers", "workers"]), "wait"],
    ["lifts while another replicatedJob is held", group(4, 5, ["drivers"]), "lift"],
    ["does not lift for a later epoch than its own", group(4, 6), "wait"],
    ["restarts when its epoch is deprecated", group(5, 5), "restart"],
    ["restarts when a later epoch is deprecated", group(7, 8), "restart"],
    ["restarts even while it is held", group(5, 5, ["workers"]), "restart"],
  ])("%s", (_behavior, seen, action) => {
    expect(decide(waiting, seen)).toEqual({ kind: action });
  });

  it.each(NO_GROUP)("waits while the object is $kind", (seen) => {
    expect(decide(waiting, seen)).toEqual(WAIT);
  });
});

describe("an agent whose barrier is lifted", () => {
  it.each<[string, GroupView]>([
    ["lets its workers run while nothing changes", group(4, 5)],
    ["does not take the barrier back when its replicatedJob is held again", group(4, 5, ["workers"])],
    ["lets its workers run when a later stage syncs", group(4, 6)],
    ["lets its workers run when a stale state arrives", group(2, 3)],
  ])("%s", (_behavior, seen) => {
    expect(decide(running, seen)).toEqual(WAIT);
  });

  it.each(NO_GROUP)("does not end its workers when the object becomes $kind", (seen) => {
    expect(decide(running, seen)).toEqual(WAIT);
  });

  it("restarts when its epoch is deprecated", () => {
    expect(decide(running, group(5, 5))).toEqual({ kind: "restart" });
  });
});

describe("a group that does not take part", () => {
  it("has no barrier and no restart", () => {
    expect(decide(fresh, { kind: "released" })).toEqual({ kind: "lift" });
    expect(decide(waiting, { kind: "released" })).toEqual({ kind: "lift" });
    expect(decide(running, { kind: "released" })).toEqual(WAIT);
  });
});

describe("an agent after reprise was removed", () => {
  const removed: GroupView = { kind: "removed" };
  const alone = advance(fresh, { kind: "lift", alone: true });

  it.each([
    ["without an epoch", fresh],
    ["with an epoch", taken],
    ["at the barrier", waiting],
  ])("lets its workers start without the group: %s", (_where, state) => {
    expect(decide(state, removed)).toEqual({ kind: "lift", alone: true });
  });

  it("does not disturb workers that run", () => {
    expect(decide(running, removed)).toEqual(WAIT);
    expect(decide(alone, removed)).toEqual(WAIT);
  });

  it("takes no epoch for workers that it started alone: they would not start together with the group", () => {
    expect(decide(alone, group(3, 4))).toEqual(WAIT);
  });

  it("restarts once reprise is back and the group waits for every Pod: from then on it takes part again", () => {
    expect(decide(alone, group(4, 4))).toEqual({ kind: "restart" });
    expect(decide(alone, group(0, 0))).toEqual({ kind: "restart" });
  });

  it("compares its own epoch if it had one", () => {
    const withEpoch = advance(waiting, { kind: "lift", alone: true });
    expect(decide(withEpoch, group(4, 4))).toEqual(WAIT);
    expect(decide(withEpoch, group(5, 5))).toEqual({ kind: "restart" });
  });
});

describe("the life of an agent", () => {
  it("goes from the first view to the lifted barrier", () => {
    const done: string[] = [];
    let state = newAgent(identity);
    for (const view of [group(3, 4), group(3, 5)]) {
      for (let action = decide(state, view); ; action = decide(state, view)) {
        done.push(action.kind);
        state = advance(state, action);
        if (action.kind === "wait") break;
      }
    }
    expect(done).toEqual(["take", "publish", "wait", "lift", "wait"]);
    expect(state).toEqual({ ...identity, epoch: 5, published: true, lifted: true });
  });
});

describe("the GroupEpoch as an agent sees it", () => {
  const object = (spec?: object) => ({ metadata: {}, spec });

  it("is a group with its epochs", () => {
    const spec = { version: 7, deprecatedEpoch: 1, syncedEpoch: 2, heldStages: ["evaluators"] };
    expect(viewGroupEpoch(object(spec))).toEqual(group(1, 2, ["evaluators"]));
    expect(viewGroupEpoch(object({ version: 7, deprecatedEpoch: 0, syncedEpoch: 0 }))).toEqual(group(0, 0));
  });

  it.each<[string, unknown, GroupView["kind"]]>([
    ["there is none", undefined, "absent"],
    ["it has no spec", object(), "uninitialized"],
    ["one epoch is missing", object({ version: 7, syncedEpoch: 1 }), "uninitialized"],
    ["an epoch is negative", object({ version: 7, deprecatedEpoch: -1, syncedEpoch: 0 }), "uninitialized"],
    ["an epoch is not an integer", object({ version: 7, deprecatedEpoch: 0, syncedEpoch: 1.5 }), "uninitialized"],
    ["an epoch is text", object({ version: 7, deprecatedEpoch: 0, syncedEpoch: "1" }), "uninitialized"],
  ])("when %s", (_what, raw, kind) => {
    expect(viewGroupEpoch(raw)).toEqual({ kind });
  });
});
