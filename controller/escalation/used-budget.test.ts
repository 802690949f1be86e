import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { A, B, failAndRecover, withMaxRestarts } from "../testing/restarts.ts";
import { runningScene } from "../testing/scene.ts";
import { budgetOf } from "./used-budget.ts";

describe("the budget", () => {
  it("includes the recreations that JobSet counted", () => {
    const scene = runningScene({ ...withMaxRestarts(1), restartsCountTowardsMax: 1 }).fails(A, "a");
    expect(scene.fails(B, "a").settle().status.phase).toBe("Failed");
  });

  it("is that of the annotation if both the annotation and the failure policy set one", () => {
    const annotations = { [ANNOTATION.maxRestarts]: "1" };
    const scene = failAndRecover(runningScene({ ...withMaxRestarts(0), annotations }), A);
    expect(scene.status.restarts).toBe(1);
    expect(scene.fails(A, "run-2").fails(B, "run-2").settle().status.phase).toBe("Failed");
  });

  it.each(["", "-1", "3.5", "9999999999"])("ignores %j in the annotation, which is not a whole number", (text) => {
    const annotations = { [ANNOTATION.maxRestarts]: text };
    const scene = runningScene({ ...withMaxRestarts(0), annotations })
      .fails(A, "a")
      .fails(B, "a");
    expect(scene.settle().status.phase).toBe("Failed");
  });

  it("is the recorded one, which injection derived from what the user wrote", () => {
    const record = { budget: { max: 2, from: "backoffLimit" } };
    const annotations = { [ANNOTATION.status]: JSON.stringify(record) };
    const scene = runningScene({ ...withMaxRestarts(0), annotations });
    const { jobSet } = failAndRecover(scene, A).group;
    if (jobSet === undefined) throw new Error("a JobSet expected");
    expect(budgetOf(jobSet, scene.status.restarts)).toEqual({ max: 2, from: "backoffLimit", used: 1 });
    const second = failAndRecover(scene, A).fails(A, "run-3").fails(B, "run-3").settle();
    expect(second.status).toMatchObject({ restarts: 2, phase: "Failed" });
  });

  it("is 3 if the record is lost and there is no failurePolicy", () => {
    const { jobSet } = runningScene().group;
    if (jobSet === undefined) throw new Error("a JobSet expected");
    const { failurePolicy: _, ...unset } = jobSet;
    expect(budgetOf(unset, 0)).toEqual({ max: 3, from: "default", used: 0 });
  });
});
