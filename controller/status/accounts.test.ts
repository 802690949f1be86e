import { describe, expect, it } from "vitest";
import type { Availability, Tally } from "../../src/api/availability.ts";
import { blamedNodes, NODE_LIMIT, timeSince } from "./accounts.ts";

function availability(change: Partial<Availability> = {}): Availability {
  return {
    state: "Running",
    since: "2026-01-01T00:00:00.000Z",
    spent: { Waiting: 500, Running: 0, Restarting: 0, Suspended: 0 },
    restarts: 0,
    lastEpoch: 0,
    causes: [],
    blamedPods: [],
    blamedNodes: [],
    ...change,
  };
}

const START = Date.parse("2026-01-01T00:00:00.000Z");

describe("the time of all groups", () => {
  it("has what each group has spent since the last look, and nothing of a group that was not known", () => {
    const a = { uid: "a", availability: availability() };
    const b = { uid: "b", availability: availability({ state: "Restarting" }) };
    const first = timeSince(new Map(), [a], START + 1_000);
    expect(first.spent).toEqual({ Waiting: 0, Running: 0, Restarting: 0, Suspended: 0 });
    const second = timeSince(first.known, [a, b], START + 3_000);
    expect(second.spent).toEqual({ Waiting: 0, Running: 2_000, Restarting: 0, Suspended: 0 });
    const third = timeSince(second.known, [a, b], START + 4_000);
    expect(third.spent).toEqual({ Waiting: 0, Running: 1_000, Restarting: 1_000, Suspended: 0 });
  });

  it("never decreases, also if a group is deleted or its object is lost", () => {
    const { known } = timeSince(new Map(), [{ uid: "a", availability: availability() }], START + 9_000);
    expect(timeSince(known, [], START + 10_000).spent.Running).toBe(0);
    const lost = availability({ since: "2026-01-01T00:00:09.500Z" });
    expect(timeSince(known, [{ uid: "a", availability: lost }], START + 10_000).spent.Running).toBe(0);
  });
});

describe("the time of a group whose failure was seen some time ago", () => {
  it("is not counted twice", () => {
    const { known } = timeSince(new Map(), [{ uid: "a", availability: availability() }], START + 5_000);
    const spent = { Waiting: 500, Running: 4_000, Restarting: 2_000, Suspended: 0 };
    const again = availability({ since: "2026-01-01T00:00:06.000Z", spent });
    // It ran for 4 s and for 1 s, and restarted for 2 s.
    expect(timeSince(known, [{ uid: "a", availability: again }], START + 7_000).spent).toMatchObject({
      Running: 0,
      Restarting: 2_000,
    });
  });
});

describe("the nodes to blame", () => {
  it("are added up over all groups, and only the worst are named", () => {
    const many = Array.from({ length: 2 * NODE_LIMIT }, (_, node): Tally => ({ name: `node-${node}`, restarts: node }));
    const accounts = [many, [{ name: "node-0", restarts: 100 }]].map((nodes, index) => {
      return { uid: String(index), availability: availability({ blamedNodes: nodes }) };
    });
    const nodes = blamedNodes(accounts);
    expect(nodes.size).toBe(NODE_LIMIT);
    expect([...nodes].slice(0, 2)).toEqual([
      ["node-0", 100],
      ["node-19", 19],
    ]);
  });
});
