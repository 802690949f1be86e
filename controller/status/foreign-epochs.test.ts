import { describe, expect, it } from "vitest";
import { A, B } from "../testing/restarts.ts";
import { runningScene } from "../testing/scene.ts";

describe("a foreign epoch", () => {
  it("is reported once on its Pod and ignored while the group runs", () => {
    const scene = runningScene().at(7, A);
    expect(scene.verdict().reports).toMatchObject([{ pod: { name: A }, reason: "EpochIgnored" }]);
    expect(scene.settle().epochs).toBe("0/1");
    expect(scene.verdict().reports).toEqual([]);
  });

  it("that is malformed is reported once, and does not keep the group from seeing a failure", () => {
    const scene = runningScene().pod(A, { epoch: { kind: "malformed", text: "four" } });
    expect(scene.verdict().reports).toMatchObject([{ pod: { name: A }, reason: "EpochIgnored" }]);
    scene.settle();
    expect(scene.verdict().reports).toEqual([]);
    expect(scene.fails(B, "a").settle().epochs).toBe("1/1");
  });

  it("is reported together with the replacement of its Pod", () => {
    const scene = runningScene().fails(B, "a").settle().at(2_147_483_647, A);
    const position = "epoch 2147483647 is ahead of the group, which is at 1";
    const note = `${position}; no agent can have taken it, and the Pod is replaced`;
    expect(scene.verdict().reports).toMatchObject([{ pod: { name: A }, reason: "EpochIgnored", note }]);
  });
});
