import { jobFailureRules } from "../../inject/parts/job.ts";
import { podPath } from "../../inject/parts/template.ts";
import { brief } from "../../json/brief.ts";
import { listAt, textAt } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { workerRestartRules } from "../../policy/compile.ts";
import { CHANGED_AFTER_INJECTION, inParticipants } from "../integrity.ts";
import type { Problem, Rule } from "../rule.ts";

export const workerRules: Rule = {
  name: "worker-rules",
  describe:
    "Every worker has restartPolicy Never and the rule that restarts the Pod in place on every code outside the " +
    "exit-code classes and the user's own FailJob rules.",
  severity: "error",
  scope: "opted-in",
  check(subject) {
    const { policy } = subject.inputs;
    return inParticipants(subject, "every worker restarts its Pod in place", ({ index, template, workers }) => {
      const rules = workerRestartRules(policy, jobFailureRules(template.job), workers);
      return template.containers.flatMap((container, position) => {
        const rule = rules.get(textAt(container, "name") ?? "");
        return rule === undefined ? [] : problemsOf(container, rule, `${podPath(index)}.containers[${position}]`);
      });
    });
  },
};

function problemsOf(worker: JsonObject, rule: JsonObject, path: string): Problem[] {
  const problems: Problem[] = [];
  const policy = worker["restartPolicy"];
  if (policy !== "Never") {
    const message =
      `is ${brief(policy)} and not "Never", so this worker would restart without its group: ` +
      `${CHANGED_AFTER_INJECTION}`;
    problems.push({ path: `${path}.restartPolicy`, message });
  }
  if (!listAt(worker, "restartPolicyRules").some((written: Json) => equivalent(written, rule))) {
    const message = `does not have the rule that restarts the Pod in place: ${CHANGED_AFTER_INJECTION}`;
    problems.push({ path: `${path}.restartPolicyRules`, message });
  }
  return problems;
}
