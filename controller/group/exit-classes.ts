// What a worker's exit code asks for, read from the finished template: the rules in the Pods decide, and an annotation may
// have been edited since they were made. Pure.
import { asList, asMap, asText, type Fields } from "../../src/json/fields.ts";
import { codeMatcher, exitActions, FAILURE_CODES } from "../../src/validate/exit-actions.ts";

/** What a failed worker asks for: all Pods in place, a new Pod in its slot, or the end of the JobSet. */
export type Ask = "restart" | "recreate" | "fail";

/** The codes of one worker that do not restart the group in place. */
export interface ExitClasses {
  /** A rule of the user restarts the container alone: nothing has happened to the group. */
  readonly alone: readonly number[];
  /**
   * No rule restarts anything. A Pod whose only worker this is fails, and its Job replaces it or fails. In a Pod where
   * others run on nothing happens at all: Kubernetes has no action that ends a Pod, so that is left to the controller.
   */
  readonly recreate: readonly number[];
  readonly fail: readonly number[];
}

export function exitClassesOf(container: Fields, jobSpec: Fields): ExitClasses {
  const action = exitActions(asList(container["restartPolicyRules"]));
  const isFinal = finalCodes(asText(container["name"]), jobSpec);
  const unruled = FAILURE_CODES.filter((code) => action(code) === undefined);
  return {
    alone: FAILURE_CODES.filter((code) => action(code) === "Restart"),
    recreate: unruled.filter((code) => !isFinal(code)),
    fail: unruled.filter(isFinal),
  };
}

/** Whether the first rule of podFailurePolicy about a code fails the Job. */
function finalCodes(container: string | undefined, jobSpec: Fields): (code: number) => boolean {
  const rules = asList(asMap(jobSpec["podFailurePolicy"])["rules"]).flatMap((item) => {
    const { action, onExitCodes } = asMap(item);
    const name = asMap(onExitCodes)["containerName"] ?? container;
    return name === container ? [{ fails: action === "FailJob", matches: codeMatcher(onExitCodes) }] : [];
  });
  return (code) => rules.find(({ matches }) => matches(code))?.fails === true;
}

/** Undefined when the exit is nobody's business but the container's own. */
export function askOf({ alone, recreate, fail }: ExitClasses, code: number): Ask | undefined {
  if (code === 0 || alone.includes(code)) return undefined;
  if (fail.includes(code)) return "fail";
  return recreate.includes(code) ? "recreate" : "restart";
}
