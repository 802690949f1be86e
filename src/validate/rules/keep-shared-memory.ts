import { ANNOTATION } from "../../api/names.ts";
import { checkAnnotation } from "../annotation.ts";
import type { Rule } from "../rule.ts";

export const keepSharedMemory: Rule = {
  name: "keep-shared-memory",
  describe: '`reprise.dev/keep-shared-memory` is "true" or "false".',
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    checkAnnotation(subject, ANNOTATION.keepSharedMemory, (text) => text === "true" || text === "false", {
      form: '"true" or "false"',
      example: "true",
    }),
};
