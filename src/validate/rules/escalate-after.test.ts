import { annotated, describeRule, UNSET } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { escalateAfter } from "./escalate-after.ts";

describeRule(escalateAfter, {
  accepts: ["a whole number", annotated(ANNOTATION.escalateAfter, "3")],
  reports: [
    "a negative number",
    annotated(ANNOTATION.escalateAfter, "-1"),
    `metadata.annotations[${ANNOTATION.escalateAfter}]`,
    /whole number from 0 \(never\)/,
  ],
  ignores: UNSET,
});
