import { ANNOTATION } from "../../api/names.ts";
import { checkAnnotation, wholeNumber } from "../annotation.ts";
import type { Rule } from "../rule.ts";

export const escalateAfter: Rule = {
  name: "escalate-after",
  describe: "`reprise.dev/escalate-after` is a whole number of at least 1.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    checkAnnotation(subject, ANNOTATION.escalateAfter, (text) => (wholeNumber(text) ?? 0) > 0, {
      form: "a whole number from 1 to 2147483647",
      example: "3",
    }),
};
