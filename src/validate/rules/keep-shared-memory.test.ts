import { annotated, describeRule, UNSET } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { keepSharedMemory } from "./keep-shared-memory.ts";

describeRule(keepSharedMemory, {
  accepts: ["true", annotated(ANNOTATION.keepSharedMemory, "true")],
  reports: [
    "yes",
    annotated(ANNOTATION.keepSharedMemory, "yes"),
    `metadata.annotations[${ANNOTATION.keepSharedMemory}]`,
    /"yes" is not "true" or "false"/,
  ],
  ignores: UNSET,
});
