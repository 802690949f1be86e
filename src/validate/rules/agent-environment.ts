import { AGENT_ENV } from "../../api/names.ts";
import { isAbsent, listAt, named, objectAt } from "../../json/edit.ts";
import { CHANGED_AFTER_INJECTION, inAgents } from "../integrity.ts";
import type { Rule } from "../rule.ts";

/** Names and UIDs of the agent's own Pod. A fixed value would name another Pod. */
const FROM_POD: ReadonlySet<string> = new Set([
  AGENT_ENV.namespace,
  AGENT_ENV.podName,
  AGENT_ENV.podUid,
  AGENT_ENV.jobSetName,
  AGENT_ENV.jobSetUid,
  AGENT_ENV.replicatedJob,
]);

export const agentEnvironment: Rule = {
  name: "agent-environment",
  describe:
    "The agent has every environment variable it reads, and takes those about its Pod from the Pod. More variables " +
    "are allowed.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inAgents(subject, "every agent has its variables", (agent, path) => {
      const env = listAt(agent, "env");
      return Object.values(AGENT_ENV).flatMap((name) => {
        const variable = named(env, name);
        const source = objectAt(objectAt(variable, "valueFrom"), "fieldRef");
        const isThere = FROM_POD.has(name) ? source !== undefined : !isAbsent(variable?.["value"]);
        if (isThere) return [];
        const problem = variable === undefined ? "is missing" : "does not have the value that injection set";
        return [
          {
            path: `${path}.env[${name}]`,
            message: `${problem}, so the agent cannot start: ${CHANGED_AFTER_INJECTION}`,
          },
        ];
      });
    }),
};
