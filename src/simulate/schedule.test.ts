import { describe, expect, it } from "vitest";
import { Random } from "./random.ts";
import { Schedule } from "./schedule.ts";

describe("a schedule", () => {
  it("runs callbacks in the order of their times, and in the order they were added at equal times", () => {
    const schedule = new Schedule();
    const random = new Random(1);
    const planned = Array.from({ length: 500 }, (_, order) => ({ at: random.integer(0, 50), order }));
    const happened: typeof planned = [];
    for (const each of planned) schedule.after(each.at, () => happened.push(each));
    schedule.runUntil(100, () => false);
    expect(happened).toEqual([...planned].sort((a, b) => a.at - b.at || a.order - b.order));
    expect(schedule.now).toBe(100);
  });

  it("stops when told to and keeps the rest for later", () => {
    const schedule = new Schedule();
    const happened: number[] = [];
    for (const at of [1, 2, 3]) schedule.after(at, () => happened.push(at));
    schedule.runUntil(10, () => happened.length === 2);
    expect(happened).toEqual([1, 2]);
    expect(schedule.now).toBe(2);
  });
});
