import { expect, test } from "vitest";
import { Problems } from "./problems.ts";

test("a problem is shown until the collection can be read", () => {
  const problems = new Problems();
  problems.failed("pods", "forbidden", 0);
  problems.failed("jobsets", "not found", 0);
  problems.failed("pods", "still forbidden", 10_000);
  expect(problems.at(10_000)).toEqual([
    { watched: "jobsets", message: "not found" },
    { watched: "pods", message: "still forbidden" },
  ]);
  problems.succeeded("pods");
  expect(problems.at(10_000)).toEqual([{ watched: "jobsets", message: "not found" }]);
});

test("a problem that does not come again is over, because a watch that fails tries again", () => {
  const problems = new Problems();
  problems.failed("pods", "connection lost", 0);
  expect(problems.at(29_000)).toHaveLength(1);
  expect(problems.at(30_000)).toEqual([]);
});
