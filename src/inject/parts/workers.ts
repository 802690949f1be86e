// The workers: what happens when one exits, and how it learns its epoch. Pure.
import type { Finding } from "../../api/admission.ts";
import { EPOCH_ENV } from "../../api/names.ts";
import { epochAnnotation, type Protocol } from "../../api/protocol.ts";
import {
  isAbsent,
  isObject,
  listAt,
  mapShared,
  named,
  textAt,
  withAppended,
  withField,
  withList,
} from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import { MAX_RESTART_RULES } from "../../policy/compile.ts";
import type { Overwrites } from "../overwrites.ts";
import { fromPod } from "./agent.ts";
import { podPath } from "./template.ts";

export interface WorkerAdditions {
  readonly names: ReadonlySet<string>;
  readonly rule: JsonObject;
  readonly epochVariable: JsonObject | undefined;
}

/**
 * The kubelet reads the annotation at every start of the container, so the value is the epoch whose barrier was just
 * lifted. Without an agent the value is empty, which is valid.
 */
export function epochVariable(protocol: Protocol): JsonObject {
  return fromPod(EPOCH_ENV, `metadata.annotations['${epochAnnotation(protocol)}']`);
}

export function withWorkers(
  podSpec: JsonObject,
  additions: WorkerAdditions,
  index: number,
  overwrites: Overwrites,
): JsonObject {
  return withList(podSpec, "containers", (containers) =>
    mapShared(containers, (container, position) => {
      if (!isObject(container) || !additions.names.has(textAt(container, "name") ?? "")) return container;
      const written = container["restartPolicy"];
      if (!isAbsent(written) && written !== "Never") {
        const path = `${podPath(index)}.containers[${position}].restartPolicy`;
        overwrites.note("worker restartPolicy", path, written, "Never", "a worker that restarts alone loses its group");
      }
      return withWorker(container, additions);
    }),
  );
}

function withWorker(container: JsonObject, { rule, epochVariable }: WorkerAdditions): JsonObject {
  const ruled = withList(withField(container, "restartPolicy", "Never"), "restartPolicyRules", (rules) =>
    withAppended(rules, [rule]),
  );
  // A variable of that name that the user set stays.
  if (epochVariable === undefined || named(listAt(ruled, "env"), EPOCH_ENV) !== undefined) return ruled;
  return withList(ruled, "env", (env) => [...env, epochVariable]);
}

/** Checks the injected Pod: the user's rules and the injected one together must fit the limit. */
export function checkRestartRules(podSpec: JsonObject, index: number): readonly Finding[] {
  return listAt(podSpec, "containers").flatMap((container, position) => {
    const count = isObject(container) ? listAt(container, "restartPolicyRules").length : 0;
    if (count <= MAX_RESTART_RULES) return [];
    const path = `${podPath(index)}.containers[${position}].restartPolicyRules`;
    const message =
      `has ${count} rules including the one that injection adds, and Kubernetes allows ${MAX_RESTART_RULES}; ` +
      "merge or remove some";
    return [{ rule: "rule-limit", path, message }];
  });
}
