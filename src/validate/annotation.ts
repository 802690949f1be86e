// For rules about the value of one annotation that does not change the templates: injection ignores these. Pure.
import { annotationPath } from "../api/admission.ts";
import { quoted } from "../json/brief.ts";
import { isAbsent } from "../json/edit.ts";
import { type Check, judged, notApplicable } from "./rule.ts";
import type { Subject } from "./subject.ts";

/** `form` completes "... is not"; `example` is a valid value. */
export function checkAnnotation(
  { annotations }: Subject,
  key: string,
  isValid: (text: string) => boolean,
  { form, example }: { readonly form: string; readonly example: string },
): Check {
  const value = annotations[key];
  if (isAbsent(value)) return notApplicable("the annotation is not set");
  if (typeof value === "string" && isValid(value)) return { verdict: "pass", reason: `it is ${form}` };
  const found = typeof value === "string" ? quoted(value) : "the value";
  const message = `${found} is not ${form}; use a value such as ${JSON.stringify(example)}`;
  return judged([{ path: annotationPath(key), message }], "");
}
