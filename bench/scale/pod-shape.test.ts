import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { readConfig } from "../../agent/config.ts";
import { shapeOf } from "./pod-shape.ts";

const injected = parse(readFileSync("test/golden/inject/minimal.out.yaml", "utf8"));

function podFrom(template: { metadata: object; spec: object }): unknown {
  const labels = {
    "jobset.sigs.k8s.io/jobset-name": "train",
    "jobset.sigs.k8s.io/jobset-uid": "of-the-jobset",
    "jobset.sigs.k8s.io/replicatedjob-name": "workers",
  };
  return { metadata: { name: "train-0", namespace: "team", uid: "of-the-pod", labels }, spec: template.spec };
}

it("an injected agent's environment is complete for the real agent", () => {
  const shape = shapeOf(podFrom(injected.spec.replicatedJobs[0].template.spec.template));
  const server = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "6443" };
  expect(readConfig({ ...shape.agentEnv, ...server })).toMatchObject({
    namespace: "team",
    podName: "train-0",
    podUid: "of-the-pod",
    jobSetName: "train",
    jobSetUid: "of-the-jobset",
    replicatedJob: "workers",
  });
});

it("reads the containers, the JobSet and the account", () => {
  const shape = shapeOf(podFrom(injected.spec.replicatedJobs[0].template.spec.template));
  expect(shape).toMatchObject({ jobSet: "train", serviceAccount: "default", agent: "reprise-agent" });
  expect(shape.workers).toEqual(["train"]);
});

it("tells a startup probe from a hook", () => {
  const pod = (agent: object) => ({ metadata: {}, spec: { initContainers: [{ name: "agent", ...agent }] } });
  expect(shapeOf(pod({ startupProbe: { httpGet: {} } })).hasStartupProbe).toBe(true);
  expect(shapeOf(pod({ lifecycle: { postStart: {} } })).hasStartupProbe).toBe(false);
});
