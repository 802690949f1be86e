import { expect, it } from "vitest";
import { create, injected } from "../../../test/builders/injection.ts";
import {
  describeRule,
  findingsOf,
  plain,
  podPath,
  restartRule,
  SKIPPED,
  withRestartRules,
} from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { ownRestartRules } from "./own-restart-rules.ts";

describeRule(ownRestartRules, {
  accepts: [
    "a rule that restarts the whole Pod",
    plain(withRestartRules([restartRule("RestartAllContainers", [3])])).build(),
  ],
  reports: [
    "a rule that restarts the worker without its group",
    plain(withRestartRules([restartRule("Restart", [3, 4])])).build(),
    `${podPath}.containers[0].restartPolicyRules`,
    /restarts this container alone on 3-4/,
  ],
  ignores: SKIPPED,
});

it("own-restart-rules reports a rule that matches a code of an exit-code class", () => {
  const object = plain(withRestartRules([restartRule("RestartAllContainers", [42])]))
    .annotation(ANNOTATION.failExitCodes, "42")
    .build();
  expect(findingsOf(ownRestartRules, injected(create(object)))).toMatchObject([
    { message: expect.stringContaining("matches 42 before the exit-code annotations apply") },
  ]);
});
