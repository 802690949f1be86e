import { ANNOTATION } from "../../api/names.ts";
import { isRestartRequest, REQUEST_FORM } from "../../api/restart-request.ts";
import { checkAnnotation } from "../annotation.ts";
import type { Rule } from "../rule.ts";

export const restartRequest: Rule = {
  name: "restart-request",
  describe: "`reprise.dev/restart-request` is one short line: it appears in the history and in Events.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    checkAnnotation(subject, ANNOTATION.restartRequest, isRestartRequest, {
      form: REQUEST_FORM,
      example: "loss is NaN",
    }),
};
