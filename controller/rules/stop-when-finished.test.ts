import { describe, expect, it } from "vitest";
import { A } from "../testing/restarts.ts";
import { DELETED, runningScene } from "../testing/scene.ts";

describe("stop-when-finished", () => {
  it.each(["Completed", "Failed"] as const)(
    "shows that the JobSet has %s, and restarts no Pod after that",
    (outcome) => {
      const scene = runningScene().changeJobSet({ outcome }).fails(A, "a").settle();
      expect(scene.status).toMatchObject({ phase: outcome, deprecatedEpoch: 0, syncedEpoch: 1, history: [] });
      expect(scene.verdict()).toEqual({ reports: [] });
    },
  );

  it("drops the record of a deletion that the end of the JobSet caused", () => {
    const scene = runningScene().pod(A, { deletion: DELETED }).settle().changeJobSet({ outcome: "Failed" }).settle();
    expect(scene.status).toMatchObject({ phase: "Failed", history: [] });
  });
});
