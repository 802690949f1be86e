import { podPath } from "../../inject/parts/template.ts";
import { isAbsent, textAt } from "../../json/edit.ts";
import { once } from "../once.ts";
import { judged, type Rule } from "../rule.ts";

/** The probes after whose failure the kubelet kills the container. */
const PROBES = ["livenessProbe", "startupProbe"] as const;

export const livenessProbe: Rule = {
  name: "liveness-probe",
  describe:
    "No worker has a livenessProbe or startupProbe: when it fails, the kubelet does not restart the container alone " +
    "as in a plain Pod, but ends it with its full grace period and gives the Pod a new sandbox with a new address.",
  severity: "warning",
  scope: "opted-in",
  check: ({ participants }) =>
    judged(
      once(
        participants.flatMap(({ index, template, workers }) =>
          template.containers.flatMap((container, position) => {
            const probe = PROBES.find((field) => !isAbsent(container[field]));
            if (probe === undefined || !workers.includes(textAt(container, "name") ?? "")) return [];
            const message =
              "when it fails, the kubelet replaces the Pod's sandbox, and the Pod gets a new address; let the worker " +
              "exit with a non-zero code instead";
            return [{ path: `${podPath(index)}.containers[${position}].${probe}`, message }];
          }),
        ),
      ),
      "no worker has a livenessProbe or startupProbe",
    ),
};
