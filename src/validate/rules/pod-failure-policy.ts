// The user's own podFailurePolicy. FailJob on exit codes is compiled into the rules of the workers, and the controller
// does not count what Ignore matches. This rule warns about the rest: it applies to failed Pods only, and a Pod that
// restarts in place does not fail.

import type { Participant } from "../../inject/participation.ts";
import { jobFailureRules } from "../../inject/parts/job.ts";
import { jobPath } from "../../inject/parts/template.ts";
import { isObject, listAt, objectAt, textAt } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { JsonObject } from "../../json/types.ts";
import { failJobCodes, LAST_CODE, podFailureRules } from "../../policy/compile.ts";
import { codeMatcher, FAILURE_CODES } from "../../policy/exit-actions.ts";
import type { ExitCodePolicy } from "../../policy/exit-codes.ts";
import { once } from "../once.ts";
import { judged, notApplicable, type Problem, type Rule } from "../rule.ts";

/** Exit codes of an agent whose Pod is shut down: 128 + SIGKILL, 128 + SIGTERM. */
const SHUTDOWN_CODES: readonly number[] = [137, 143];

export const podFailurePolicy: Rule = {
  name: "pod-failure-policy",
  describe:
    "The user's own podFailurePolicy keeps its meaning: no FailIndex, no condition other than DisruptionTarget, no " +
    "FailJob that also matches the agent, and a code that is left for restarts in place.",
  severity: "warning",
  scope: "opted-in",
  check({ inputs, participants }) {
    const owners = participants.filter((participant) => ownRules(participant, inputs.policy).length > 0);
    if (owners.length === 0) return notApplicable("the user has no podFailurePolicy rule");
    const problems = owners.flatMap((owner) => problemsOf(owner, inputs.policy));
    const kinds = Map.groupBy(problems, ({ message }) => message);
    return judged([...kinds.values()].flatMap(once), "every rule keeps its meaning");
  },
};

interface OwnRule {
  readonly path: string;
  readonly rule: JsonObject;
}

function ownRules({ index, template, workers }: Participant, policy: ExitCodePolicy): OwnRule[] {
  const written = jobFailureRules(template.job);
  if (written.length === 0) return [];
  const ours = podFailureRules(policy, workers);
  return written.flatMap((rule, position) => {
    if (!isObject(rule) || ours.some((own) => equivalent(own, rule))) return [];
    return [{ path: `${jobPath(index)}.podFailurePolicy.rules[${position}]`, rule }];
  });
}

function problemsOf(participant: Participant, policy: ExitCodePolicy): Problem[] {
  return [
    ...ownRules(participant, policy).flatMap(({ path, rule }) => [
      ...failsIndex(path, rule, participant.workers),
      ...waitsForCondition(path, rule),
      ...matchesAgent(path, rule),
    ]),
    ...failsAlways(participant),
  ];
}

function failsIndex(path: string, rule: JsonObject, workers: readonly string[]): Problem[] {
  const onExitCodes = objectAt(rule, "onExitCodes");
  const container = textAt(onExitCodes, "containerName");
  if (rule["action"] !== "FailIndex" || onExitCodes === undefined) return [];
  if (container !== undefined && !workers.includes(container)) return [];
  const message =
    "FailIndex has no effect: the worker restarts its group in place instead of failing its index; " +
    "use FailJob to fail the Job";
  return [{ path: `${path}.action`, message }];
}

function waitsForCondition(path: string, rule: JsonObject): Problem[] {
  const condition = listAt(rule, "onPodConditions")
    .filter(isObject)
    .find(({ type }) => type !== "DisruptionTarget");
  if (condition === undefined) return [];
  const message =
    "applies to failed Pods only: a worker that exits restarts in place, its Pod does not fail, and the condition is " +
    "not looked at; use exit codes";
  return [{ path: `${path}.onPodConditions`, message }];
}

function matchesAgent(path: string, rule: JsonObject): Problem[] {
  const onExitCodes = objectAt(rule, "onExitCodes");
  const matches = codeMatcher(onExitCodes);
  if (rule["action"] !== "FailJob" || textAt(onExitCodes, "containerName") !== undefined) return [];
  if (!SHUTDOWN_CODES.some(matches)) return [];
  const codes = SHUTDOWN_CODES.filter(matches).join(" and ");
  const message =
    `is not set, so the rule also matches the agent, which exits with ${codes} when its Pod is shut down; ` +
    "set the name of your container";
  return [{ path: `${path}.onExitCodes.containerName`, message }];
}

function failsAlways({ index, template, workers }: Participant): Problem[] {
  const rules = jobFailureRules(template.job);
  const always = workers.find((worker) => failJobCodes(rules, worker).length === FAILURE_CODES.length);
  if (always === undefined) return [];
  const message =
    `fails the Job on every exit code of a worker, so only disruptions and exit code ${LAST_CODE} restart in place; ` +
    "leave out the codes that are worth a retry";
  return [{ path: `${jobPath(index)}.podFailurePolicy.rules`, message }];
}
