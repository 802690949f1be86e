import { podPath } from "../../inject/parts/template.ts";
import { isAbsent, isObject, listAt, objectAt } from "../../json/edit.ts";
import { once } from "../once.ts";
import { judged, type Rule } from "../rule.ts";

export const preStop: Rule = {
  name: "pre-stop",
  describe:
    "No container of a participating Pod has a preStop hook: the kubelet does not run it when the group restarts in " +
    "place.",
  severity: "warning",
  scope: "opted-in",
  check: ({ participants }) =>
    judged(
      once(
        participants.flatMap(({ index, template: { podSpec } }) =>
          ["initContainers", "containers"].flatMap((key) =>
            listAt(podSpec, key).flatMap((container, position) => {
              const lifecycle = isObject(container) ? objectAt(container, "lifecycle") : undefined;
              if (isAbsent(lifecycle?.["preStop"])) return [];
              const message =
                "is not run when the group restarts in place: the container gets SIGTERM and 2 s; let the program " +
                "handle SIGTERM instead";
              return [{ path: `${podPath(index)}.${key}[${position}].lifecycle.preStop`, message }];
            }),
          ),
        ),
      ),
      "no container has a preStop hook",
    ),
};
