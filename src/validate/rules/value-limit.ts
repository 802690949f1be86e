import { jobPath, podPath } from "../../inject/parts/template.ts";
import { isObject, listAt, objectAt } from "../../json/edit.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { judged, type Problem, type Rule } from "../rule.ts";

/** The limit of Kubernetes in a restartPolicyRule and in a podFailurePolicy rule. */
const MAX_VALUES = 255;

export const valueLimit: Rule = {
  name: "value-limit",
  describe:
    "No restartPolicyRule and no podFailurePolicy rule has more than 255 exit codes: Kubernetes would reject the " +
    "Jobs long after it accepted the JobSet.",
  severity: "warning",
  scope: "opted-in",
  check: ({ participants }) =>
    judged(
      participants.flatMap(({ index, template: { job, podSpec } }) => [
        ...tooLong(
          listAt(objectAt(job, "podFailurePolicy"), "rules"),
          "onExitCodes",
          `${jobPath(index)}.podFailurePolicy.rules`,
        ),
        ...["initContainers", "containers"].flatMap((key) => inContainers(podSpec, key, podPath(index))),
      ]),
      "every rule is within the limit of Kubernetes",
    ),
};

function inContainers(podSpec: JsonObject, key: string, path: string): Problem[] {
  return listAt(podSpec, key).flatMap((container, position) =>
    isObject(container)
      ? tooLong(listAt(container, "restartPolicyRules"), "exitCodes", `${path}.${key}[${position}].restartPolicyRules`)
      : [],
  );
}

function tooLong(rules: readonly Json[], field: string, path: string): Problem[] {
  return rules.flatMap((rule, position) => {
    const count = isObject(rule) ? listAt(objectAt(rule, field), "values").length : 0;
    if (count <= MAX_VALUES) return [];
    const message = `has ${count} exit codes, and Kubernetes allows ${MAX_VALUES} per rule; use NotIn, or two rules`;
    return [{ path: `${path}[${position}].${field}.values`, message }];
  });
}
