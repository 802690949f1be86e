import {
  describeRule,
  plain,
  podPath,
  restartRule,
  SKIPPED,
  upTo,
  withRestartRules,
} from "../../../test/builders/rule-examples.ts";
import { valueLimit } from "./value-limit.ts";

describeRule(valueLimit, {
  accepts: [
    "a rule with 255 exit codes",
    plain(withRestartRules([restartRule("RestartAllContainers", upTo(255))])).build(),
  ],
  reports: [
    "a rule with 256 exit codes",
    plain(withRestartRules([restartRule("RestartAllContainers", upTo(256))])).build(),
    `${podPath}.containers[0].restartPolicyRules[0].exitCodes.values`,
    /256 exit codes, and Kubernetes allows 255/,
  ],
  ignores: SKIPPED,
});
