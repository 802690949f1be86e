import { describe, expect, it } from "vitest";
import { layOut, moved, placeOf, podAt } from "./grid-layout.ts";

const STAGES = [
  { name: "driver", first: 0, count: 1 },
  { name: "workers", first: 1, count: 50 },
];

describe("the grid", () => {
  it("has large cells for few Pods, and small ones for many", () => {
    expect(layOut(STAGES, 1_000, 600).pitch).toBe(26);
    const many = layOut([{ name: "workers", first: 0, count: 10_000 }], 1_100, 700);
    expect(many.cell).toBeGreaterThanOrEqual(6);
    expect(many.height).toBeLessThanOrEqual(700);
  });

  it("keeps cells large enough to see, even if the grid becomes higher than the window", () => {
    const { cell, height } = layOut([{ name: "workers", first: 0, count: 10_000 }], 320, 500);
    expect(cell).toBe(6);
    expect(height).toBeGreaterThan(500);
  });

  it("finds each Pod where it was drawn, and none between the stages", () => {
    const layout = layOut(STAGES, 200, 600);
    for (let position = 0; position < 51; position += 1) {
      const { x, y } = placeOf(layout, position);
      expect(x + layout.cell).toBeLessThanOrEqual(200);
      expect(podAt(layout, x + 1, y + 1)).toBe(position);
      expect(podAt(layout, x + layout.cell - 1, y + layout.cell - 1)).toBe(position);
    }
    expect(podAt(layout, 5, 5)).toBeUndefined();
    expect(podAt(layout, 199, placeOf(layout, 0).y + 1)).toBeUndefined();
    expect(podAt(layout, 5, layout.height + 1)).toBeUndefined();
  });

  it("moves the selection by keys, and stops at both ends", () => {
    const layout = layOut(STAGES, 260, 600);
    expect(layout.columns).toBe(10);
    expect(moved(layout, 51, 5, "ArrowRight")).toBe(6);
    expect(moved(layout, 51, 5, "ArrowDown")).toBe(15);
    expect(moved(layout, 51, 5, "ArrowUp")).toBe(0);
    expect(moved(layout, 51, 45, "PageDown")).toBe(50);
    expect(moved(layout, 51, 5, "Home")).toBe(0);
    expect(moved(layout, 51, 5, "End")).toBe(50);
    expect(moved(layout, 51, 5, "Tab")).toBeUndefined();
  });
});
