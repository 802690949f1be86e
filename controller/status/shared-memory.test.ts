import { describe, expect, it } from "vitest";
import { A } from "../testing/restarts.ts";
import { runningScene } from "../testing/scene.ts";

const MEBIBYTE = 2 ** 20;

describe("leftovers in /dev/shm", () => {
  it("are reported on their Pod once, and again when they have doubled", () => {
    const scene = runningScene().pod(A, { shmLeftoverBytes: 20 * MEBIBYTE });
    expect(scene.verdict().reports).toEqual([
      {
        pod: { name: A, uid: A },
        text: "2^4 MiB",
        type: "Warning",
        reason: "SharedMemoryLeft",
        action: "Restart",
        note:
          "20 MiB left in /dev/shm by earlier runs: it takes up memory of the next run; " +
          "let the worker remove its files there when it starts",
      },
    ]);
    expect(scene.settle().verdict().reports).toEqual([]);
    scene.pod(A, { shmLeftoverBytes: 30 * MEBIBYTE });
    expect(scene.settle().verdict().reports).toEqual([]);
    expect(scene.pod(A, { shmLeftoverBytes: 40 * MEBIBYTE }).verdict().reports).toHaveLength(1);
  });

  it("are reported beside a foreign epoch of the same Pod, each once", () => {
    const scene = runningScene()
      .pod(A, { shmLeftoverBytes: 20 * MEBIBYTE })
      .at(7, A);
    expect(scene.verdict().reports.map(({ reason }) => reason)).toEqual(["EpochIgnored", "SharedMemoryLeft"]);
    scene.step();
    expect(scene.verdict().reports).toEqual([]);
  });

  it("below 16 MiB are not reported", () => {
    expect(
      runningScene()
        .pod(A, { shmLeftoverBytes: 16 * MEBIBYTE - 1 })
        .verdict().reports,
    ).toEqual([]);
  });
});
