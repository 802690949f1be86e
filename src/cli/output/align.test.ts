import { expect, it } from "vitest";
import type { Json } from "../../json/types.ts";
import { align } from "./align.ts";

const shared: Json = { effect: "NoSchedule" };

/** The steps in short: "=" keeps, "+" adds, "-" removes. */
function steps(before: readonly Json[], after: readonly Json[]): string {
  const mark = { keep: "=", add: "+", remove: "-" } as const;
  return align(before, after)
    .map(({ kind }) => mark[kind])
    .join("");
}

it.each<[string, readonly Json[], readonly Json[], string]>([
  ["an item added in front", [shared], [{ effect: "NoExecute" }, shared], "+="],
  ["an item added at the end", [shared], [shared, { effect: "NoExecute" }], "=+"],
  ["a container in front of others that change", [{ name: "a" }], [{ name: "agent" }, { name: "a", x: 1 }], "+="],
  ["an item removed", ["a", "b", "c"], ["a", "c"], "=-="],
  ["all items removed", ["a", "b"], [], "--"],
  ["an item replaced", ["a", "b"], ["a", "c"], "=="],
])("aligning lists finds %s", (_what, before, after, expected) => {
  expect(steps(before, after)).toBe(expected);
});
