// The workers: what happens when one exits. Pure.
import {
  isAbsent,
  isObject,
  listAt,
  mapShared,
  textAt,
  withAppended,
  withDefault,
  withField,
  withList,
} from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { JsonObject } from "../../json/types.ts";
import { MAX_RESTART_RULES } from "../../policy/compile.ts";
import type { Overwrites } from "../overwrites.ts";
import { findAgent } from "./agent.ts";
import { podPath } from "./template.ts";
import type { Unsupported } from "./unsupported.ts";

export interface WorkerAdditions {
  /** The rule of each worker, by the name of the container. */
  readonly rules: ReadonlyMap<string, JsonObject>;
  /** The workers whose last log lines become their termination message. */
  readonly logsAsMessage: ReadonlySet<string>;
}

/**
 * A restart in place removes the containers, and `kubectl logs --previous` then finds nothing. With this policy the
 * last lines of a failed worker are in its status, where the controller reads them. A value of the user stays.
 */
const MESSAGE_POLICY = { field: "terminationMessagePolicy", value: "FallbackToLogsOnError" } as const;

export function hasMessagePolicy(container: JsonObject | undefined): boolean {
  return container?.[MESSAGE_POLICY.field] === MESSAGE_POLICY.value;
}

export function withWorkers(
  podSpec: JsonObject,
  additions: WorkerAdditions,
  index: number,
  overwrites: Overwrites,
): JsonObject {
  const wasInjected = findAgent(podSpec) !== undefined;
  return withList(podSpec, "containers", (containers) =>
    mapShared(containers, (container, position) => {
      if (!isObject(container)) return container;
      const name = textAt(container, "name") ?? "";
      const rule = additions.rules.get(name);
      if (rule === undefined) return container;
      const written = container["restartPolicy"];
      if (!isAbsent(written) && written !== "Never") {
        const path = `${podPath(index)}.containers[${position}].restartPolicy`;
        overwrites.note("worker restartPolicy", path, written, "Never", "a worker that restarts alone loses its group");
      }
      const explained = additions.logsAsMessage.has(name)
        ? withDefault(container, MESSAGE_POLICY.field, MESSAGE_POLICY.value)
        : container;
      const unruled = wasInjected ? withoutStaleRule(explained, rule) : explained;
      return withWorker(unruled, rule);
    }),
  );
}

/**
 * In a copy of an injected JobSet the last rule of a worker is the one that injection added. If the user changed the
 * podFailurePolicy of the copy, that rule is stale, and it would match before the new one.
 */
function withoutStaleRule(container: JsonObject, rule: JsonObject): JsonObject {
  return withList(container, "restartPolicyRules", (rules) => {
    const last = rules.at(-1);
    if (!isObject(last) || last["action"] !== rule["action"]) return rules;
    return rules.some((present) => equivalent(present, rule)) ? rules : rules.slice(0, -1);
  });
}

function withWorker(container: JsonObject, rule: JsonObject): JsonObject {
  return withList(withField(container, "restartPolicy", "Never"), "restartPolicyRules", (rules) =>
    withAppended(rules, [rule]),
  );
}

/** The user's rules and the injected one together must fit the limit. */
export function checkRestartRules(
  podSpec: JsonObject,
  index: number,
  ruleOf: (worker: string) => JsonObject | undefined,
): Unsupported | undefined {
  for (const [position, container] of listAt(podSpec, "containers").entries()) {
    const written = isObject(container) ? listAt(container, "restartPolicyRules") : [];
    const rule = isObject(container) ? ruleOf(textAt(container, "name") ?? "") : undefined;
    if (rule === undefined || written.length < MAX_RESTART_RULES) continue;
    if (written.length === MAX_RESTART_RULES && written.some((present) => equivalent(present, rule))) continue;
    const path = `${podPath(index)}.containers[${position}].restartPolicyRules`;
    const problem = `has ${written.length} rules, and Kubernetes allows ${MAX_RESTART_RULES} with the injected one`;
    return { rule: "rule-limit", path, problem, fix: "merge or remove some" };
  }
  return undefined;
}
