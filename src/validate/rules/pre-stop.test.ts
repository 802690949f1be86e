import { expect, it } from "vitest";
import { container } from "../../../test/builders/jobset.ts";
import { describeRule, findingsOf, plain, podPath, SKIPPED } from "../../../test/builders/rule-examples.ts";
import { preStop } from "./pre-stop.ts";

const LIFECYCLE = { preStop: { exec: { command: ["save"] } } };

describeRule(preStop, {
  accepts: ["containers without a preStop hook", plain().build()],
  reports: [
    "a worker with a preStop hook",
    plain({ pods: 2, containers: [container("train", { lifecycle: LIFECYCLE })] }).build(),
    `${podPath}.containers[0].lifecycle.preStop`,
    /is not run when the group restarts in place/,
  ],
  ignores: SKIPPED,
});

it("pre-stop reports the hook of a sidecar too, and many hooks once", () => {
  const sidecar = container("store", { restartPolicy: "Always", lifecycle: LIFECYCLE });
  const worker = container("train", { lifecycle: LIFECYCLE });
  const object = plain({ pods: 2, initContainers: [sidecar], containers: [worker] }).build();
  expect(findingsOf(preStop, object)).toEqual([
    expect.objectContaining({
      path: `${podPath}.initContainers[0].lifecycle.preStop`,
      message: expect.stringMatching(/\(and 1 more like it\)$/),
    }),
  ]);
});
