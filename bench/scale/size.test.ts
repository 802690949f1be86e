import { expect, it } from "vitest";
import { parseSize, SIZES, titleOf } from "./size.ts";

it("reads a single group and many groups", () => {
  expect(parseSize("500")).toEqual({ groups: 1, pods: 500 });
  expect(parseSize("100x20")).toEqual({ groups: 100, pods: 20 });
  expect(() => parseSize("many")).toThrow("--pods many");
});

it("names every size", () => {
  expect(SIZES.map(titleOf)).toEqual(["100 Pods", "500 Pods", "2,000 Pods", "5,000 Pods", "100 x 20 Pods"]);
});
