// For the rules about the value of one annotation that shapes no template: injection does not look at these. Pure.
import { shown } from "../inject/inputs.ts";
import { isAbsent } from "../json/edit.ts";
import { type Check, judged, notApplicable } from "./rule.ts";
import type { Subject } from "./subject.ts";

/** `form` completes the sentence "... is not"; `example` is what to write instead. */
export function checkAnnotation(
  { annotations }: Subject,
  key: string,
  isValid: (text: string) => boolean,
  { form, example }: { readonly form: string; readonly example: string },
): Check {
  const value = annotations[key];
  if (isAbsent(value)) return notApplicable("the annotation is not set");
  if (typeof value === "string" && isValid(value)) return { verdict: "pass", reason: `it is ${form}` };
  const found = typeof value === "string" ? shown(value) : "the value";
  const message = `${found} is not ${form}; write for example ${JSON.stringify(example)}`;
  return judged([{ path: annotationPath(key), message }], "");
}

export function annotationPath(key: string): string {
  return `metadata.annotations[${key}]`;
}
