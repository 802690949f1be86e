import { isAgentContainer, mountsAgentToken } from "../../api/agent-container.ts";
import { AGENT } from "../../api/names.ts";
import { podPath } from "../../inject/parts/template.ts";
import { listAt } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import { judged, type Problem, type Rule } from "../rule.ts";

export const tokenPrivate: Rule = {
  name: "token-private",
  describe:
    "No other container mounts the agent's token: a worker whose own token is turned off must not get one through reprise.",
  severity: "error",
  scope: "opted-in",
  check: ({ participants }) =>
    judged(
      participants.flatMap(({ index, template }) => strangers(template.podSpec, podPath(index))),
      "only agents mount the token",
    ),
};

function strangers(podSpec: JsonObject, path: string): Problem[] {
  return ["initContainers", "containers"].flatMap((key) =>
    listAt(podSpec, key).flatMap((container, position) => {
      if (!mountsAgentToken(container) || (key === "initContainers" && isAgentContainer(container))) return [];
      const message = `mounts ${AGENT.tokenVolume}, which is for the agent alone; remove the mount`;
      return [{ path: `${path}.${key}[${position}].volumeMounts`, message }];
    }),
  );
}
