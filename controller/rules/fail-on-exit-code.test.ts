import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import type { ContainerState } from "../../src/api/pod.ts";
import { A, B, fail } from "../testing/restarts.ts";
import { DISRUPTED, runningScene } from "../testing/scene.ts";

const POLICY = { annotations: { [ANNOTATION.failExitCodes]: "40-50,137" } };

describe("fail-on-exit-code", () => {
  it("fails the JobSet at once, names the annotation that says so, and restarts no Pod", () => {
    const scene = fail(runningScene(POLICY), A, 42);
    const exit = `Pod ${A}: container main exited with code 42`;
    const message = `${exit}, which ${ANNOTATION.failExitCodes} (40-50,137) makes final`;
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "NonRetriableExitCode", message });
    expect(scene.settle().status).toMatchObject({ deprecatedEpoch: 0, syncedEpoch: 1, restarts: 0, phase: "Failed" });
    expect(scene.status.history).toMatchObject([
      { cause: { pod: A, exitCode: 42 }, action: "FailJobSet", rule: "fail-on-exit-code" },
    ]);
    expect(scene.notices).toMatchObject([{ type: "Warning", reason: "NonRetriableExitCode", note: message }]);
  });

  it("tries again when the JobSet could not be failed", () => {
    const scene = fail(runningScene(POLICY), A, 42);
    scene.step();
    expect(scene.changeJobSet({ outcome: "none" }).step()).toMatchObject({
      kind: "fail",
      reason: "NonRetriableExitCode",
    });
  });

  it("also applies to a Pod that failed with such a code", () => {
    const scene = fail(runningScene(POLICY), A, 42).pod(A, { phase: "Failed" });
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "NonRetriableExitCode" });
  });

  it("wins over the failure of another Pod that was seen first", () => {
    const scene = fail(fail(runningScene(POLICY), B, 1).settle(), A, 42);
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "NonRetriableExitCode" });
  });

  it("does not apply to a worker that was disrupted: the code is not from its program", () => {
    const scene = fail(runningScene(POLICY), A, 137)
      .pod(A, { phase: "Failed", conditions: [DISRUPTED] })
      .settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "Disruption" }, counted: false }]);
  });

  it("does not apply to a worker that ended together with its agent: the code is that of a signal", () => {
    const scene = fail(runningScene(POLICY), A, 137);
    const down: ContainerState = { kind: "terminated", exitCode: 137, reason: "Error" };
    const containers = scene.group.members.get(A)?.pod.containers.map((each) => ({ ...each, state: down })) ?? [];
    expect(scene.pod(A, { containers }).settle().status).toMatchObject({ phase: "Running", history: [] });
    expect(scene.at(2, A).settle().status.history).toMatchObject([{ cause: { reason: "PodRestarted" } }]);
  });

  it("believes a code that only a restarted controller sees when the worker is still down after 15 s", () => {
    const scene = fail(runningScene(POLICY), A, 42).restartController();
    expect(scene.settle().verdict()).toEqual({ reports: [], wakeAt: scene.now + 15_000 });
    scene.now += 15_000;
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "NonRetriableExitCode" });
  });
});
