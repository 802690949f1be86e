import { AGENT, BARRIER_PATH, BARRIER_PORT_ENV, MAX_INT32 } from "../../api/names.ts";
import { listAt, named, objectAt } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import { CHANGED_AFTER_INJECTION, inAgents } from "../integrity.ts";
import type { Problem, Rule } from "../rule.ts";

export const agentProbe: Rule = {
  name: "agent-probe",
  describe:
    "The agent's startup probe asks the agent whether the barrier has lifted, and never gives up: without it the " +
    "workers would not wait for the group.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inAgents(subject, "every agent has its startup probe", (agent, path) => {
      const probe = objectAt(agent, "startupProbe");
      const at = `${path}.startupProbe`;
      if (probe === undefined) return [problem(at, "is not set, so the workers would not wait for the group")];
      if (!asksAgent(probe, agent)) return [problem(at, "does not ask the agent whether the barrier has lifted")];
      if (probe["failureThreshold"] === MAX_INT32) return [];
      const message = `is not ${MAX_INT32}, so a Pod that waits for others would be restarted`;
      return [problem(`${at}.failureThreshold`, message)];
    }),
};

function asksAgent(probe: JsonObject, agent: JsonObject): boolean {
  const command = listAt(objectAt(probe, "exec"), "command");
  const port = named(listAt(agent, "env"), BARRIER_PORT_ENV)?.["value"];
  if (port === undefined) return command.includes(AGENT.binary) && command.includes(AGENT.probeCommand);
  const httpGet = objectAt(probe, "httpGet");
  return httpGet?.["path"] === BARRIER_PATH && String(httpGet["port"]) === port;
}

function problem(path: string, message: string): Problem {
  return { path, message: `${message}: ${CHANGED_AFTER_INJECTION}` };
}
