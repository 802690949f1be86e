// Which action the exit code of a worker requests. Read from the injected Pod template and not from the annotations:
// the rules in the Pods take effect, and an annotation may have been edited since the Pods were created. Pure.
import { asList, asMap, asText, type Fields } from "../../src/json/fields.ts";
import { exitActions, FAILURE_CODES, podFailureRuleFor } from "../../src/policy/exit-actions.ts";

/** Restart all Pods in place, recreate the Pod, or fail the JobSet. */
export type RequestedAction = "restart" | "recreate" | "fail";

/** The exit codes of one worker that do not restart the group in place. */
export interface ExitClasses {
  /** A rule of the user restarts only the container: the group is not affected. */
  readonly alone: readonly number[];
  /**
   * No rule restarts anything. If this is the only worker, the Pod fails, and its Job replaces it or fails. If other
   * containers keep running, Kubernetes does nothing, because no action ends a Pod: the controller has to act.
   */
  readonly recreate: readonly number[];
  readonly fail: readonly number[];
  /** The first rule of podFailurePolicy that matches is Ignore: whatever is restarted, it is not a failure. */
  readonly ignored: readonly number[];
}

export function exitClassesOf(container: Fields, jobSpec: Fields): ExitClasses {
  const action = exitActions(asList(container["restartPolicyRules"]));
  const ruleFor = podFailureRuleOf(asText(container["name"]), jobSpec);
  const failsJob = (code: number) => ruleFor(code)?.action === "FailJob";
  const unruled = FAILURE_CODES.filter((code) => action(code) === undefined);
  return {
    alone: FAILURE_CODES.filter((code) => action(code) === "Restart"),
    recreate: unruled.filter((code) => !failsJob(code)),
    fail: unruled.filter(failsJob),
    ignored: FAILURE_CODES.filter((code) => ruleFor(code)?.action === "Ignore"),
  };
}

/** The rule of the Job's podFailurePolicy for each exit code of a container. */
export function podFailureRuleOf(container: string | undefined, jobSpec: Fields): ReturnType<typeof podFailureRuleFor> {
  return podFailureRuleFor(asList(asMap(jobSpec["podFailurePolicy"])["rules"]), container);
}

/** Undefined when the exit does not concern the group. */
export function requestedAction({ alone, recreate, fail }: ExitClasses, code: number): RequestedAction | undefined {
  if (code === 0 || alone.includes(code)) return undefined;
  if (fail.includes(code)) return "fail";
  return recreate.includes(code) ? "recreate" : "restart";
}
