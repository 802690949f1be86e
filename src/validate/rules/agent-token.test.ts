import { POD_SPEC } from "../../../test/builders/injection.ts";
import { AGENT_AT, broken, describeRule, listIn, NOT_INJECTED, podPath } from "../../../test/builders/rule-examples.ts";
import { agentToken } from "./agent-token.ts";

describeRule(agentToken, {
  accepts: [
    "an agent with one more mount",
    broken(
      [...AGENT_AT, "volumeMounts"],
      [...listIn(...AGENT_AT, "volumeMounts"), { name: "ca", mountPath: "/etc/ca" }],
    ),
  ],
  reports: [
    "a Pod without the token volume",
    broken([...POD_SPEC, "volumes"], []),
    `${podPath}.volumes`,
    /is missing or holds no service account token/,
  ],
  ignores: NOT_INJECTED,
});
