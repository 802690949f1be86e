import { describe, expect, it } from "vitest";
import { hasAgent } from "./agent-container.ts";

const agent = { name: "reprise-agent", volumeMounts: [{ name: "reprise-agent-token" }] };

describe("a Pod template with an agent", () => {
  it("has it at any position of its initContainers", () => {
    expect(hasAgent({ initContainers: [{ name: "fetch" }, agent] })).toBe(true);
  });

  it.each([
    ["no initContainers", { containers: [{ name: "train" }] }],
    ["a regular container of the agent's name", { containers: [agent] }],
    ["a user's initContainer of the agent's name, without the token", { initContainers: [{ name: "reprise-agent" }] }],
    ["another initContainer that mounts the token", { initContainers: [{ ...agent, name: "spy" }] }],
    ["malformed initContainers", { initContainers: ["reprise-agent", null] }],
  ])("is not one with %s", (_, podSpec) => {
    expect(hasAgent(podSpec)).toBe(false);
  });
});
