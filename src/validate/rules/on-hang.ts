import { ANNOTATION } from "../../api/names.ts";
import { checkAnnotation } from "../annotation.ts";
import type { Rule } from "../rule.ts";

const CHOICES: readonly string[] = ["warn", "restart"];

export const onHang: Rule = {
  name: "on-hang",
  describe:
    "`reprise.dev/on-hang` is `warn` or `restart`: reprise does not guess whether to restart a group that hangs.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    checkAnnotation(subject, ANNOTATION.onHang, (text) => CHOICES.includes(text), {
      form: '"warn" (an Event and a condition) or "restart" (a counted restart in place)',
      example: "warn",
    }),
};
