import { AGENT } from "../../api/names.ts";
import { podPath } from "../../inject/parts/template.ts";
import { brief } from "../../json/brief.ts";
import { isObject, listAt, named, objectAt } from "../../json/edit.ts";
import { CHANGED_AFTER_INJECTION, inAgents } from "../integrity.ts";
import type { Problem, Rule } from "../rule.ts";

export const agentToken: Rule = {
  name: "agent-token",
  describe: "The agent's token volume exists, holds a service account token, and is mounted where the agent reads it.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inAgents(subject, "every agent has its token", (agent, path, { index, template }) => {
      const problems: Problem[] = [];
      const volume = named(listAt(template.podSpec, "volumes"), AGENT.tokenVolume);
      const sources = listAt(objectAt(volume, "projected"), "sources").filter(isObject);
      if (!sources.some((source) => objectAt(source, "serviceAccountToken") !== undefined)) {
        const message = `${AGENT.tokenVolume} is missing or holds no service account token: ${CHANGED_AFTER_INJECTION}`;
        problems.push({ path: `${podPath(index)}.volumes`, message });
      }
      const mountPath = named(listAt(agent, "volumeMounts"), AGENT.tokenVolume)?.["mountPath"];
      if (mountPath !== AGENT.tokenMountPath) {
        const message =
          `mounts the token at ${brief(mountPath)}, but the agent reads ${AGENT.tokenMountPath}: ` +
          `${CHANGED_AFTER_INJECTION}`;
        problems.push({ path: `${path}.volumeMounts`, message });
      }
      return problems;
    }),
};
