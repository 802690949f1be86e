// A podFailurePolicy applies to failed Pods only, and a Pod that restarts in place does not fail. A rule that worked in
// the plain JobSet may therefore have no effect.

import type { Participant } from "../../inject/participation.ts";
import { jobPath } from "../../inject/parts/template.ts";
import { isObject, listAt, objectAt, textAt } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { podFailureRules } from "../../policy/compile.ts";
import { codeMatcher, FAILURE_CODES } from "../../policy/exit-actions.ts";
import { type ExitCodePolicy, formatCodes } from "../../policy/exit-codes.ts";
import { judged, notApplicable, type Problem, type Rule } from "../rule.ts";

/** Exit codes of an agent whose Pod is shut down: 128 + SIGKILL, 128 + SIGTERM. */
const SHUTDOWN_CODES: readonly number[] = [137, 143];

export const podFailurePolicy: Rule = {
  name: "pod-failure-policy",
  describe:
    "The user's own podFailurePolicy rules can still match: codes that restart in place never reach them, and a rule " +
    "without a containerName also matches the agent.",
  severity: "warning",
  scope: "opted-in",
  check({ inputs, participants }) {
    const rules = participants.flatMap((participant) => ownRules(participant, inputs.policy));
    if (rules.length === 0) return notApplicable("the user has no podFailurePolicy rule for exit codes");
    return judged(
      rules.flatMap((rule) => problemsOf(rule, inputs.policy)),
      "every rule of the user can match",
    );
  },
};

interface OwnRule {
  readonly path: string;
  readonly action: Json | undefined;
  readonly onExitCodes: JsonObject;
  readonly workers: readonly string[];
}

function ownRules({ index, template, workers }: Participant, policy: ExitCodePolicy): OwnRule[] {
  const written = listAt(objectAt(template.job, "podFailurePolicy"), "rules");
  if (written.length === 0) return [];
  const ours = podFailureRules(policy, workers);
  return written.flatMap((rule, position) => {
    const onExitCodes = objectAt(isObject(rule) ? rule : undefined, "onExitCodes");
    if (onExitCodes === undefined || !isObject(rule) || ours.some((own) => equivalent(own, rule))) return [];
    const path = `${jobPath(index)}.podFailurePolicy.rules[${position}].onExitCodes`;
    return [{ path, action: rule["action"], onExitCodes, workers }];
  });
}

function problemsOf({ path, action, onExitCodes, workers }: OwnRule, { fail, recreate }: ExitCodePolicy): Problem[] {
  const matches = codeMatcher(onExitCodes);
  const container = textAt(onExitCodes, "containerName");
  const problems: Problem[] = [];
  const reach = new Set([...fail, ...recreate]);
  const lost = FAILURE_CODES.filter((code) => matches(code) && !reach.has(code));
  if (lost.length > 0 && (container === undefined || workers.includes(container))) {
    const message =
      `workers that exit with ${formatCodes(lost)} restart in place and never reach this rule; to fail the JobSet, ` +
      "list the codes in reprise.dev/fail-exit-codes, to replace the Pod in reprise.dev/recreate-exit-codes";
    problems.push({ path: `${path}.values`, message });
  }
  if (container === undefined && (action === "FailJob" || action === "FailIndex") && SHUTDOWN_CODES.some(matches)) {
    const codes = SHUTDOWN_CODES.filter(matches).join(" and ");
    const message =
      `is not set, so the rule also matches the agent, which exits with ${codes} when its Pod is shut down; ` +
      "set the name of your container";
    problems.push({ path: `${path}.containerName`, message });
  }
  return problems;
}
