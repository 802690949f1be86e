import { ANNOTATION } from "../../api/names.ts";
import { readWholeNumber } from "../../api/whole-number.ts";
import { checkAnnotation } from "../annotation.ts";
import type { Rule } from "../rule.ts";

export const escalateAfter: Rule = {
  name: "escalate-after",
  describe: "`reprise.dev/escalate-after` is a whole number; 0 means never.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    checkAnnotation(subject, ANNOTATION.escalateAfter, (text) => readWholeNumber(text) !== undefined, {
      form: "a whole number from 0 (never) to 2147483647",
      example: "3",
    }),
};
