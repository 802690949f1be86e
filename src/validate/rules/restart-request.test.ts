import { annotated, describeRule, UNSET } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { restartRequest } from "./restart-request.ts";

describeRule(restartRequest, {
  accepts: ["a reason", annotated(ANNOTATION.restartRequest, "loss is NaN (alice, 2026-01-01T00:00:00Z)")],
  reports: [
    "two lines",
    annotated(ANNOTATION.restartRequest, "loss\nis NaN"),
    `metadata.annotations[${ANNOTATION.restartRequest}]`,
    /is not a text of 1 to 200 characters in one line; use a value such as "loss is NaN"/,
  ],
  ignores: UNSET,
});
