// The image may be another: mirrors rewrite it. The command may be wrapped (secret injectors do that), as long as the
// agent is what runs in the end. Resources and security context belong to the platform.
import { AGENT } from "../../api/names.ts";
import { listAt, textAt } from "../../json/edit.ts";
import { brief, FIND_THE_WEBHOOK, inAgents } from "../integrity.ts";
import type { Problem, Rule } from "../rule.ts";

export const agentProcess: Rule = {
  name: "agent-process",
  describe:
    "The agent has an image, runs the agent binary and has restartPolicy Always; mirrored images, wrapped commands and other resources are fine.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inAgents(subject, "every agent runs its binary as a sidecar", (agent, path) => {
      const problems: Problem[] = [];
      if (agent["restartPolicy"] !== "Always") {
        const message = `is ${brief(agent["restartPolicy"])} and not "Always", so the Pod would wait for its agent to end: ${FIND_THE_WEBHOOK}`;
        problems.push({ path: `${path}.restartPolicy`, message });
      }
      if ((textAt(agent, "image") ?? "") === "") {
        problems.push({ path: `${path}.image`, message: `is ${brief(agent["image"])}: ${FIND_THE_WEBHOOK}` });
      }
      if (![...listAt(agent, "command"), ...listAt(agent, "args")].includes(AGENT.binary)) {
        const message = `does not run ${AGENT.binary}, so no barrier is ever lifted: ${FIND_THE_WEBHOOK}`;
        problems.push({ path: `${path}.command`, message });
      }
      return problems;
    }),
};
