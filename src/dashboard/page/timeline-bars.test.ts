import { describe, expect, it } from "vitest";
import type { RestartView } from "../view/wire.ts";
import { timeline } from "./timeline-bars.ts";

function restart(steps: RestartView["steps"], action = "RestartInPlace"): RestartView {
  return { cause: "", reason: "", action, fromEpoch: 1, counted: true, steps };
}

const STEPS = { failureSeen: 1_000, deprecated: 1_500, allRestarted: 4_000, synced: 4_000 };

describe("the timeline of a recovery", () => {
  it("has a bar for each step", () => {
    expect(timeline(restart({ ...STEPS, allRunning: 6_000 }), 99_000, true)).toEqual({
      bars: [
        { step: "deprecated", seconds: 0.5, open: false },
        { step: "allRestarted", seconds: 2.5, open: false },
        { step: "synced", seconds: 0, open: false },
        { step: "allRunning", seconds: 2, open: false },
      ],
      seconds: 5,
      open: false,
    });
  });

  it("grows while a step is to come", () => {
    const { bars, seconds, open } = timeline(restart(STEPS), 9_000, true);
    expect(bars.at(-1)).toEqual({ step: "allRunning", seconds: 5, open: true });
    expect({ seconds, open }).toEqual({ seconds: 8, open: true });
  });

  it("ends with its last step if another restart followed, or if the JobSet fails", () => {
    expect(timeline(restart(STEPS), 9_000, false)).toMatchObject({ seconds: 3, open: false });
    expect(timeline(restart(STEPS, "FailJobSet"), 9_000, true)).toMatchObject({ seconds: 3, open: false });
  });

  it("never runs backwards, whatever the clocks of the controllers said", () => {
    const { bars } = timeline(restart({ failureSeen: 5_000, deprecated: 4_000, allRestarted: 6_000 }), 0, true);
    expect(bars.map(({ seconds }) => seconds)).toEqual([0, 1, 0]);
  });

  it("is empty without a failure", () => {
    expect(timeline(restart({}), 9_000, true)).toEqual({ bars: [], seconds: 0, open: false });
  });
});
