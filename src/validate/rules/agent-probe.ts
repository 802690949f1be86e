import type { JsonObject } from "../../api/admission.ts";
import { AGENT, AGENT_ENV, MAX_INT32 } from "../../api/names.ts";
import { listAt, named, objectAt, textAt } from "../../inject/json.ts";
import { brief, FIND_THE_WEBHOOK, inAgents } from "../integrity.ts";
import type { Problem, Rule } from "../rule.ts";

export const agentProbe: Rule = {
  name: "agent-probe",
  describe:
    "The agent's startupProbe asks the agent and never gives up: it is the barrier, and waiting for nodes must not kill the agent.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inAgents(subject, "every agent holds its barrier", (agent, path) => {
      const probe = objectAt(agent, "startupProbe");
      const place = `${path}.startupProbe`;
      if (probe === undefined) {
        return [
          { path: place, message: `is not set, so the workers would not wait for the group: ${FIND_THE_WEBHOOK}` },
        ];
      }
      const problems: Problem[] = [];
      if (!asksAgent(probe, agent)) {
        problems.push({
          path: place,
          message: `does not ask the agent, so the barrier is not its own: ${FIND_THE_WEBHOOK}`,
        });
      }
      if (probe["failureThreshold"] !== MAX_INT32) {
        const found = brief(probe["failureThreshold"]);
        const message = `is ${found} and not ${MAX_INT32}, and an agent that waits for nodes would be killed: ${FIND_THE_WEBHOOK}`;
        problems.push({ path: `${place}.failureThreshold`, message });
      }
      return problems;
    }),
};

/** At the port the agent listens on, or by the binary's own probe command (under hostNetwork). */
function asksAgent(probe: JsonObject, agent: JsonObject): boolean {
  const request = objectAt(probe, "httpGet");
  const command = listAt(objectAt(probe, "exec"), "command");
  if (request === undefined) return command.includes(AGENT.binary) && command.includes("probe");
  const port = textAt(named(listAt(agent, "env"), AGENT_ENV.port), "value");
  return request["path"] === AGENT.probePath && String(request["port"]) === port;
}
