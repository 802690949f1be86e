import { annotated, describeRule, UNSET } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { forceDelete } from "./force-delete.ts";

describeRule(forceDelete, {
  accepts: ["true", annotated(ANNOTATION.safeToForcefullyDelete, "true")],
  reports: [
    "yes",
    annotated(ANNOTATION.safeToForcefullyDelete, "yes"),
    `metadata.annotations[${ANNOTATION.safeToForcefullyDelete}]`,
    /"yes" is not "true" or "false"/,
  ],
  ignores: UNSET,
});
