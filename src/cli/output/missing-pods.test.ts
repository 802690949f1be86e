import { expect, it } from "vitest";
import { A, B, fail } from "../../../controller/testing/restarts.ts";
import type { Scene } from "../../../controller/testing/scene.ts";
import { runningScene } from "../../../controller/testing/scene.ts";
import { missingPods } from "./missing-pods.ts";

function missing({ group }: Scene): string | undefined {
  const { object, jobSet } = group;
  if (object === undefined || jobSet === undefined) throw new Error("the scene has begun");
  const pods = [...group.members.values()].map(({ pod }) => pod);
  const jobs = [...group.jobs.values()].map(({ job }) => job);
  return missingPods({ object, jobSet, pods, jobs });
}

it("names the Pods that are not back at the barrier, at once", () => {
  const scene = fail(runningScene(), A).settle();
  expect(missing(scene)).toMatch(/^2 missing: workers-0\/0 \(.+\), workers-0\/1 \(.+\)$/);
  expect(missing(scene.at(2, A))).toMatch(/^1 missing: workers-0\/1 /);
});

it("is nothing while the group runs, and while the JobSet is suspended", () => {
  expect(missing(runningScene())).toBeUndefined();
  const suspended = fail(runningScene(), B).settle().changeJobSet({ suspended: true });
  expect(missing(suspended)).toBeUndefined();
});

it("is unknown if no Pods were read", () => {
  const { object, jobSet } = fail(runningScene(), A).settle().group;
  if (object === undefined || jobSet === undefined) throw new Error("the scene has begun");
  expect(missingPods({ object, jobSet })).toBeUndefined();
});
