// Other webhooks may rewrite the image (mirrors) and wrap the command (secret injectors), as long as the agent runs.
// Resources and security context belong to the platform.
import { AGENT } from "../../api/names.ts";
import { brief } from "../../json/brief.ts";
import { listAt, textAt } from "../../json/edit.ts";
import { CHANGED_AFTER_INJECTION, inAgents } from "../integrity.ts";
import type { Problem, Rule } from "../rule.ts";

export const agentProcess: Rule = {
  name: "agent-process",
  describe:
    "The agent has an image, runs the agent binary and has restartPolicy Always. Mirrored images, wrapped commands " +
    "and other resources are allowed.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inAgents(subject, "every agent runs its binary as a sidecar", (agent, path) => {
      const problems: Problem[] = [];
      if (agent["restartPolicy"] !== "Always") {
        const message =
          `is ${brief(agent["restartPolicy"])} and not "Always", so the Pod would wait for its agent to exit: ` +
          `${CHANGED_AFTER_INJECTION}`;
        problems.push({ path: `${path}.restartPolicy`, message });
      }
      if ((textAt(agent, "image") ?? "") === "") {
        problems.push({ path: `${path}.image`, message: `is ${brief(agent["image"])}: ${CHANGED_AFTER_INJECTION}` });
      }
      if (![...listAt(agent, "command"), ...listAt(agent, "args")].includes(AGENT.binary)) {
        const message = `does not run ${AGENT.binary}, so the barrier would never lift: ${CHANGED_AFTER_INJECTION}`;
        problems.push({ path: `${path}.command`, message });
      }
      return problems;
    }),
};
