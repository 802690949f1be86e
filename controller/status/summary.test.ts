import { describe, expect, it } from "vitest";
import { A, B } from "../testing/restarts.ts";
import { Scene } from "../testing/scene.ts";

describe("the summary", () => {
  it("says Running when every worker runs, and not before", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A, B).settle().runs("a", A).settle();
    expect(scene.status.phase).toBe("Starting");
    expect(scene.runs("a", B).settle().status).toMatchObject({
      phase: "Running",
      ready: "2/2",
      restarts: 0,
      history: [],
    });
    expect(scene.notices).toEqual([]);
  });
});
