import { ANNOTATION } from "../../api/names.ts";
import { checkAnnotation } from "../annotation.ts";
import type { Rule } from "../rule.ts";

export const forceDelete: Rule = {
  name: "force-delete",
  describe:
    '`reprise.dev/safe-to-forcefully-delete` is "true" or "false": consent to a forced deletion must be unambiguous.',
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    checkAnnotation(subject, ANNOTATION.safeToForcefullyDelete, (text) => text === "true" || text === "false", {
      form: '"true" or "false"',
      example: "true",
    }),
};
