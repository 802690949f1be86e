import { ANNOTATION } from "../../api/names.ts";
import { readWholeNumber } from "../../api/whole-number.ts";
import { checkAnnotation } from "../annotation.ts";
import type { Rule } from "../rule.ts";

export const maxRestarts: Rule = {
  name: "max-restarts",
  describe: "`reprise.dev/max-restarts` is a whole number: reprise does not guess how often the group may restart.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    checkAnnotation(subject, ANNOTATION.maxRestarts, (text) => readWholeNumber(text) !== undefined, {
      form: "a whole number from 0 to 2147483647",
      example: "10",
    }),
};
