import { annotated, describeRule, UNSET } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { maxRestarts } from "./max-restarts.ts";

describeRule(maxRestarts, {
  accepts: ["a whole number", annotated(ANNOTATION.maxRestarts, "10")],
  reports: [
    "a word",
    annotated(ANNOTATION.maxRestarts, "ten"),
    `metadata.annotations[${ANNOTATION.maxRestarts}]`,
    /"ten" is not a whole number from 0/,
  ],
  ignores: UNSET,
});
