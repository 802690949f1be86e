import { describeRule, intact, OTHER_KIND, plain } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { misplacedKeys } from "./misplaced-keys.ts";

describeRule(misplacedKeys, {
  accepts: ["an intact injected JobSet", intact],
  reports: [
    "an annotation among the labels",
    plain().label(ANNOTATION.inject, "false").build(),
    `metadata.labels[${ANNOTATION.inject}]`,
    /move it to metadata\.annotations/,
  ],
  ignores: OTHER_KIND,
});
