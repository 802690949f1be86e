import { describe, expect, it } from "vitest";
import { restartBars } from "./restart-bars.ts";

function restart(deprecated: number, allRestarted?: number, synced?: number, allRunning?: number) {
  const entries = Object.entries({ deprecated, allRestarted, synced, allRunning });
  const steps = Object.fromEntries(entries.filter(([, seconds]) => seconds !== undefined));
  return { cause: "", fromEpoch: 1, counted: true, steps };
}

describe("the bars of restarts", () => {
  it("show each step in proportion, in the scale of the longest restart", () => {
    expect(restartBars([restart(0, 2, 3, 4), restart(0, 1, 1, 2)])).toEqual([
      "█".repeat(20) + "▒".repeat(10) + "░".repeat(10),
      "█".repeat(10) + "░".repeat(10),
    ]);
  });

  it("end where a restart is now", () => {
    expect(restartBars([restart(0, 4, 4, 4), restart(2)])).toEqual(["█".repeat(40), "▏".repeat(20)]);
  });

  it("are empty if nothing took any time", () => {
    expect(restartBars([restart(0)])).toEqual([""]);
    expect(restartBars([])).toEqual([]);
  });
});
