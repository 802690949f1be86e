import { describe, expect, it } from "vitest";
import { changedLines, screen } from "./live-view.ts";
import type { GroupReport } from "./status-report.ts";

function group(name: string, phase: string, missing?: string): GroupReport {
  return {
    namespace: "ml",
    name,
    phase,
    ready: "1/2",
    syncedEpoch: 1,
    heldStages: [],
    restarts: { used: 0, max: 3 },
    ...(missing === undefined ? {} : { missing }),
    waitingFor: [],
    sharedMemory: [],
    progress: [],
    history: [],
    conditions: [],
  };
}

describe("the lines of what changed", () => {
  it("has a line for each group at first, then only for those that changed or are gone", () => {
    const shown = new Map<string, string>();
    expect(changedLines([group("a", "Running"), group("b", "Running")], shown, "12:00:00")).toEqual([
      "12:00:00  ml/a  Running  1/2  1  0/3",
      "12:00:00  ml/b  Running  1/2  1  0/3",
    ]);
    expect(changedLines([group("a", "Running"), group("b", "Running")], shown, "12:00:01")).toEqual([]);
    const waiting = group("a", "Restarting", "1 missing: a-0 (Unschedulable)");
    expect(changedLines([waiting], shown, "12:00:02")).toEqual([
      "12:00:02  ml/a  Restarting  1/2  1  0/3  1 missing: a-0 (Unschedulable)",
      "12:00:02  ml/b  gone",
    ]);
  });
});

describe("the screen of a terminal", () => {
  it("starts at the top and fits into the terminal", () => {
    const text = screen("first line\nsecond\nthird\n", { columns: 8, rows: 5 }, "12:00:00");
    expect(text).toBe("\u001b[H\u001b[J12:00:00\n\nfirst li\nsecond");
  });
});
