import { describe, expect, it } from "vitest";
import { A, B, comeBack } from "../testing/restarts.ts";
import { Scene } from "../testing/scene.ts";

describe("adopt-pod-epochs", () => {
  it("continues at the Pods' epoch when the object was created from an outdated list of Pods", () => {
    const scene = new Scene().settle().job("workers-0").at(5, A, B).settle();
    expect(scene.epochs).toBe("5/5");
    expect(scene.status.history).toMatchObject([{ cause: { reason: "StateLost" }, rule: "adopt-pod-epochs" }]);
    expect(comeBack(scene).status).toMatchObject({ syncedEpoch: 6, restarts: 0 });
  });

  it("believes an epoch that is up to a thousand ahead", () => {
    const scene = new Scene().settle().job("workers-0").at(1_000, A).settle();
    expect(scene.epochs).toBe("1000/1000");
  });
});
