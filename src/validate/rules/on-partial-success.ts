import { ANNOTATION } from "../../api/names.ts";
import { checkAnnotation } from "../annotation.ts";
import type { Rule } from "../rule.ts";

const CHOICES: readonly string[] = ["recreate", "continue"];

export const onPartialSuccess: Rule = {
  name: "on-partial-success",
  describe:
    "`reprise.dev/on-partial-success` is `recreate` or `continue`: what happens to Pods that have succeeded is not guessed.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    checkAnnotation(subject, ANNOTATION.onPartialSuccess, (text) => CHOICES.includes(text), {
      form: '"recreate" (JobSet starts everything anew) or "continue" (the others restart without those that are done)',
      example: "recreate",
    }),
};
