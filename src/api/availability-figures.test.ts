import { describe, expect, it } from "vitest";
import type { Availability } from "./availability.ts";
import { availabilityFigures, SUSPECT_RESTARTS, suspectNodes } from "./availability-figures.ts";

const START = Date.parse("2026-01-01T00:00:00.000Z");

function availability(change: Partial<Availability> = {}): Availability {
  return {
    state: "Restarting",
    since: "2026-01-01T00:00:00.000Z",
    spent: { Waiting: 10_000, Running: 900_000, Restarting: 70_000, Suspended: 500_000 },
    restarts: 2,
    lastEpoch: 3,
    causes: [],
    blamedPods: [],
    blamedNodes: [],
    ...change,
  };
}

describe("the figures of a group's account", () => {
  it("count a restart that is not over yet, because its time is counted, too", () => {
    expect(availabilityFigures(availability(), true, START + 20_000)).toEqual({
      seconds: { Waiting: 10, Running: 900, Restarting: 90, Suspended: 500 },
      share: 0.9,
      interruptions: 3,
      mtbfSeconds: 300,
      mttrSeconds: 30,
    });
    const { interruptions, mttrSeconds } = availabilityFigures(availability(), false, START + 20_000);
    expect({ interruptions, mttrSeconds }).toEqual({ interruptions: 2, mttrSeconds: 45 });
  });

  it("have no means before the first restart, and no share before the first second", () => {
    const spent = { Waiting: 0, Running: 0, Restarting: 0, Suspended: 0 };
    const figures = availabilityFigures(availability({ state: "Waiting", spent, restarts: 0 }), false, START);
    expect(figures).toEqual({ seconds: spent, interruptions: 0 });
  });

  it("stay as they are when the JobSet has ended", () => {
    expect(availabilityFigures(availability({ state: "Ended" }), false, START + 1e9).seconds.Restarting).toBe(70);
  });
});

describe("the nodes that cause failures again and again", () => {
  it("are those that several groups together blame often enough, the worst first", () => {
    const of = (...blamedNodes: readonly (readonly [string, number])[]) => {
      return availability({ blamedNodes: blamedNodes.map(([name, restarts]) => ({ name, restarts })) });
    };
    const few = SUSPECT_RESTARTS - 1;
    expect(suspectNodes([of(["b", few], ["a", few]), of(["b", 2], ["c", SUSPECT_RESTARTS])])).toEqual([
      { name: "b", restarts: few + 2 },
      { name: "c", restarts: SUSPECT_RESTARTS },
    ]);
    expect(suspectNodes([of(["a", few])])).toEqual([]);
  });
});
