// The user's own restartPolicyRules come before the injected one, and the first match decides. That is the user's
// choice, so this rule only warns.

import { jobFailureRules } from "../../inject/parts/job.ts";
import { podPath } from "../../inject/parts/template.ts";
import { listAt, textAt } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { JsonObject } from "../../json/types.ts";
import { failJobCodes, workerRestartRule } from "../../policy/compile.ts";
import { exitActions, FAILURE_CODES } from "../../policy/exit-actions.ts";
import { type ExitCodePolicy, formatCodes } from "../../policy/exit-codes.ts";
import { judged, type Problem, type Rule } from "../rule.ts";

export const ownRestartRules: Rule = {
  name: "own-restart-rules",
  describe:
    "A worker's own restartPolicyRules neither restart it without its group nor match codes of " +
    "`reprise.dev/*-exit-codes`.",
  severity: "warning",
  scope: "opted-in",
  check({ inputs, participants }) {
    const problems = participants.flatMap(({ index, template, workers }) =>
      template.containers.flatMap((container, position) => {
        const name = textAt(container, "name") ?? "";
        if (!workers.includes(name) || listAt(container, "restartPolicyRules").length === 0) return [];
        const injected = workerRestartRule(inputs.policy, failJobCodes(jobFailureRules(template.job), name));
        const path = `${podPath(index)}.containers[${position}].restartPolicyRules`;
        return conflicts(container, injected, inputs.policy, path);
      }),
    );
    return judged(problems, "no rule of a worker conflicts with the injected one");
  },
};

function conflicts(worker: JsonObject, injected: JsonObject, policy: ExitCodePolicy, path: string): Problem[] {
  const rules = listAt(worker, "restartPolicyRules");
  const ours = rules.findIndex((rule) => equivalent(rule, injected));
  const own = ours === -1 ? rules : rules.slice(0, ours);
  if (own.length === 0) return [];
  const action = exitActions(own);
  const alone = FAILURE_CODES.filter((code) => action(code) === "Restart");
  const taken = [...policy.fail, ...policy.recreate].filter((code) => action(code) !== undefined);
  const problems: Problem[] = [];
  if (alone.length > 0) {
    const message =
      `restarts this container alone on ${formatCodes(alone)}, and its group does not notice; ` +
      "remove the rule to restart the group";
    problems.push({ path, message });
  }
  if (taken.length > 0) {
    const codes = formatCodes(taken.toSorted((a, b) => a - b));
    problems.push({
      path,
      message: `matches ${codes} before the exit-code annotations apply; remove the codes from one of the two`,
    });
  }
  return problems;
}
