import { describe, expect, it } from "vitest";
import { create } from "../../test/builders/injection.ts";
import { container, jobSet } from "../../test/builders/jobset.ts";
import type { JsonObject } from "../json/types.ts";

const IMAGE = "registry.example/jobset/in-place-restart-agent:v0.12.0";
const POD = "spec.replicatedJobs[1].template.spec.template.spec";

describe("a JobSet with JobSet's own agent", () => {
  it.each<[string, { initContainers?: JsonObject[]; containers?: JsonObject[] }, string]>([
    ["as a sidecar", { initContainers: [container("in-place-restart-agent")] }, `${POD}.initContainers[0]`],
    ["as the main container", { containers: [container("in-place-restart-agent")] }, `${POD}.containers[0]`],
    ["under another name", { initContainers: [{ name: "agent", image: IMAGE }] }, `${POD}.initContainers[0]`],
  ])("is left alone: %s", (_mode, parts, path) => {
    const object = jobSet().replicatedJob("plain").replicatedJob("workers", parts).build();
    expect(create(object)).toMatchObject({
      kind: "skipped",
      reason: "has-its-own-agent",
      warnings: [{ rule: "has-its-own-agent", path }],
    });
  });

  it("is not one whose image only has a similar name", () => {
    const image = "registry.example/in-place-restart-agent/train:1";
    const object = jobSet().replicatedJob("workers", { containers: [{ name: "train", image }] });
    expect(create(object.build()).kind).toBe("injected");
  });
});
