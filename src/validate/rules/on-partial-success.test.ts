import { annotated, describeRule, UNSET } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { onPartialSuccess } from "./on-partial-success.ts";

describeRule(onPartialSuccess, {
  accepts: ["a known choice", annotated(ANNOTATION.onPartialSuccess, "continue")],
  reports: [
    "a choice with a capital",
    annotated(ANNOTATION.onPartialSuccess, "Recreate"),
    `metadata.annotations[${ANNOTATION.onPartialSuccess}]`,
    /"Recreate" is not "recreate" .* or "continue"/,
  ],
  ignores: UNSET,
});
