import { container } from "../../../test/builders/jobset.ts";
import { describeRule, intact, plain, podPath, SKIPPED } from "../../../test/builders/rule-examples.ts";
import { AGENT } from "../../api/names.ts";
import { tokenPrivate } from "./token-private.ts";

describeRule(tokenPrivate, {
  accepts: ["an intact injected JobSet", intact],
  reports: [
    "a worker that mounts the agent's token",
    plain({
      containers: [container("train", { volumeMounts: [{ name: AGENT.tokenVolume, mountPath: "/x" }] })],
    }).build(),
    `${podPath}.containers[0].volumeMounts`,
    /only the agent may mount; remove the mount/,
  ],
  ignores: SKIPPED,
});
