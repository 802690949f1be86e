import { isAgentContainer, mountsAgentToken } from "../../api/agent-container.ts";
import { AGENT } from "../../api/names.ts";
import { podPath } from "../../inject/parts/template.ts";
import { listAt } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import { judged, type Problem, type Rule } from "../rule.ts";

export const tokenPrivate: Rule = {
  name: "token-private",
  describe:
    "No other container mounts the agent's token: a worker with automountServiceAccountToken off must not get a " +
    "token through reprise.",
  severity: "error",
  scope: "opted-in",
  check: ({ participants }) =>
    judged(
      participants.flatMap(({ index, template }) => otherMounts(template.podSpec, podPath(index))),
      "only agents mount the token",
    ),
};

function otherMounts(podSpec: JsonObject, path: string): Problem[] {
  return ["initContainers", "containers"].flatMap((key) =>
    listAt(podSpec, key).flatMap((container, position) => {
      if (!mountsAgentToken(container) || (key === "initContainers" && isAgentContainer(container))) return [];
      const message = `mounts ${AGENT.tokenVolume}, which only the agent may mount; remove the mount`;
      return [{ path: `${path}.${key}[${position}].volumeMounts`, message }];
    }),
  );
}
