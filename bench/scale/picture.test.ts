import { expect, it } from "vitest";
import { drawGrowth } from "./picture.ts";

const drawn = drawGrowth([
  {
    title: "seconds",
    points: [
      { pods: 100, reprise: 2, upstream: 4 },
      { pods: 1_000, reprise: 20, upstream: 40 },
    ],
  },
]);

it("shows every value of both sides", () => {
  for (const value of ["2.0", "4.0", "20", "40"]) expect(drawn).toContain(`>${value}</text>`);
});

it("growth in step with the Pods is one straight line for each side", () => {
  const slopes = [...drawn.matchAll(/<line x1="([\d.]+)" y1="(\d+)" x2="([\d.]+)" y2="(\d+)" stroke="#\w+"\/>/g)].map(
    ([, x1, y1, x2, y2]) => (Number(y1) - Number(y2)) / (Number(x2) - Number(x1)),
  );
  expect(slopes).toHaveLength(2);
  expect(slopes[0]).toBeCloseTo(slopes[1] ?? 0, 2);
});

it("places nothing outside the picture", () => {
  const coordinates = [...drawn.matchAll(/ (?:x|x1|x2|cx)="([\d.-]+)"/g)].map(([, x]) => Number(x));
  expect(Math.min(...coordinates)).toBeGreaterThan(0);
  expect(Math.max(...coordinates)).toBeLessThan(860);
});
