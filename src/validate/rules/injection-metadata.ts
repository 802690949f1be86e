import { ANNOTATION, LABEL } from "../../api/names.ts";
import { jobPath } from "../../inject/parts/template.ts";
import { readRecord } from "../../inject/stored/record.ts";
import { objectAt } from "../../json/edit.ts";
import { CHANGED_AFTER_INJECTION, inJobSet } from "../integrity.ts";
import type { Problem, Rule } from "../rule.ts";
import type { Member, Subject } from "../subject.ts";

export const injectionMetadata: Rule = {
  name: "injection-metadata",
  describe:
    "The JobSet and its Pods have the label `reprise.dev/injected`, by which the controller finds them, and the " +
    "JobSet has the record `reprise.dev/status`, which later updates read.",
  severity: "error",
  scope: "opted-in",
  check: (subject) => inJobSet(subject, "the controller will find the JobSet and its Pods", onJobSet, onPods),
};

function onJobSet({ object }: Subject): Problem[] {
  const problems: Problem[] = [];
  if (objectAt(objectAt(object, "metadata"), "labels")?.[LABEL.injected] !== "true") {
    const message = `is not "true", so the controller would not see this JobSet: ${CHANGED_AFTER_INJECTION}`;
    problems.push({ path: `metadata.labels[${LABEL.injected}]`, message });
  }
  if (readRecord(object) === undefined) {
    const message = `is missing or is not the record that injection wrote: ${CHANGED_AFTER_INJECTION}`;
    problems.push({ path: `metadata.annotations[${ANNOTATION.status}]`, message });
  }
  return problems;
}

function onPods({ index, template }: Member): Problem[] {
  if (objectAt(objectAt(template.pod, "metadata"), "labels")?.[LABEL.injected] === "true") return [];
  const path = `${jobPath(index)}.template.metadata.labels[${LABEL.injected}]`;
  return [{ path, message: `is not "true", so the controller would not see these Pods: ${CHANGED_AFTER_INJECTION}` }];
}
