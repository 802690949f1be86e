import { describe, expect, it } from "vitest";
import { hasAgent, restartExitCodeOf } from "./agent-container.ts";

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

describe("the exit code of an agent that was told to restart its Pod", () => {
  const withCode = (value: unknown) => ({
    initContainers: [{ ...agent, env: [{ name: "POD_NAME" }, { name: "RESTART_EXIT_CODE", value }] }],
  });

  it("is in its environment", () => {
    expect(restartExitCodeOf(withCode("88"))).toBe(88);
  });

  it.each(["", "eighty-eight", "-1", 88])("is unknown if the environment says %j", (value) => {
    expect(restartExitCodeOf(withCode(value))).toBeUndefined();
  });

  it("is unknown without an agent", () => {
    expect(restartExitCodeOf({ initContainers: [{ name: "fetch" }] })).toBeUndefined();
  });
});
