import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";

function reprise(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["src/cli/main.ts", "simulate", ...args], {
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

describe("reprise simulate", () => {
  it("prints the timeline of one scenario and its outcome", () => {
    const { status, stdout } = reprise("--seed", "3", "--pods", "8", "--faults", "kill-worker@20s");
    expect(stdout).toMatch(/20\.000 s +FAULT +kill-worker/);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("Running in epoch 2, 1 restart counted");
    expect(status).toBe(0);
  });

  it("checks many random runs", () => {
    const { status, stdout } = reprise("--seed", "500", "--runs", "5");
    expect(stdout).toBe("5 runs from seed 500: every invariant held, every group recovered\n");
    expect(status).toBe(0);
  });

  it("estimates the recovery of the JobSet in a file, with percentiles", () => {
    const { status, stdout } = reprise("-f", "examples/train.yaml", "--runs", "5");
    const percentiles = "p50 \\d+\\.\\d s, p90 \\d+\\.\\d s, p99 \\d+\\.\\d s, max \\d+\\.\\d s";
    expect(stdout).toMatch(new RegExp(`^JobSet train: 4 Pods, 5 runs: recovery ${percentiles}\\n$`));
    expect(status).toBe(0);
  });

  it("estimates nothing for a file without a JobSet", () => {
    const { status, stderr } = reprise("-f", "package.json");
    expect(stderr).toContain("no JobSet in package.json");
    expect(status).toBe(1);
  });

  it("rejects an unknown fault and lists the known ones", () => {
    const { status, stderr } = reprise("--faults", "kill-worker@20s,explode@3s");
    expect(stderr).toContain('"explode@3s" is not of the form NAME@TIME');
    expect(stderr).toContain("kill-agent");
    expect(status).toBe(1);
  });

  it("rejects --pods together with --runs", () => {
    expect(reprise("--runs", "2", "--pods", "3")).toMatchObject({ status: 1, stdout: "" });
  });
});
