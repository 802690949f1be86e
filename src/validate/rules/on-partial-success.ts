import { ANNOTATION } from "../../api/names.ts";
import { checkAnnotation } from "../annotation.ts";
import type { Rule } from "../rule.ts";

const CHOICES: readonly string[] = ["recreate", "continue"];

export const onPartialSuccess: Rule = {
  name: "on-partial-success",
  describe:
    "`reprise.dev/on-partial-success` is `recreate` or `continue`: reprise does not guess what happens to Pods that " +
    "succeeded.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    checkAnnotation(subject, ANNOTATION.onPartialSuccess, (text) => CHOICES.includes(text), {
      form: '"recreate" (JobSet recreates all Jobs) or "continue" (Pods that succeeded do not restart)',
      example: "recreate",
    }),
};
