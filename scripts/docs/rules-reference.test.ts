import { expect, it } from "vitest";
import { withRules } from "./rules-reference.ts";

const MARKS = [
  "<!-- controller rules: written by `node scripts/docs.ts`, do not edit -->",
  "<!-- controller rules: end -->",
];

it("lists the rules in their order, each with its reason and its file", () => {
  const rules = [
    { name: "end-epoch", why: "First." },
    { name: "lift-barrier", why: "Then." },
  ];
  expect(withRules(MARKS.join("\n"), rules)).toContain(
    "| 1 | `end-epoch` | First. | `controller/rules/end-epoch.ts` |\n" +
      "| 2 | `lift-barrier` | Then. | `controller/rules/lift-barrier.ts` |",
  );
});
