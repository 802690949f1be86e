import { expect, it } from "vitest";
import { container } from "../../../test/builders/jobset.ts";
import { describeRule, findingsOf, plain, podPath, SKIPPED } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { livenessProbe } from "./liveness-probe.ts";

const probed = container("log", { livenessProbe: { tcpSocket: { port: 1 } } });

describeRule(livenessProbe, {
  accepts: ["workers without a livenessProbe", plain().build()],
  reports: [
    "a worker with a livenessProbe",
    plain({ pods: 2, containers: [container("train"), probed] }).build(),
    `${podPath}.containers[1].livenessProbe`,
    /the Pod gets a new address/,
  ],
  ignores: SKIPPED,
});

it("liveness-probe does not concern containers that are not workers", () => {
  const object = plain({ pods: 2, containers: [container("train"), probed] });
  expect(findingsOf(livenessProbe, object.annotation(ANNOTATION.workerContainers, "train").build())).toEqual([]);
});

it("liveness-probe reports a startupProbe too, after whose failure the kubelet does the same", () => {
  const slow = container("train", { startupProbe: { tcpSocket: { port: 1 } } });
  expect(findingsOf(livenessProbe, plain({ pods: 2, containers: [slow] }).build())).toMatchObject([
    { path: `${podPath}.containers[0].startupProbe` },
  ]);
});
