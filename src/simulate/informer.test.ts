import { describe, expect, it } from "vitest";
import { Groups } from "../../controller/group/groups.ts";
import type { Change } from "../api/change.ts";
import type { Pod } from "../api/pod.ts";
import { Informer } from "./informer.ts";
import { jobOf, jobSetOf, podOf } from "./objects.ts";
import { GROUP_KEY } from "./shape.ts";
import { World } from "./world.ts";

const STAGE = { name: "workers", replicas: 1, parallelism: 1, dependsOn: [] };
const JOB_SET = jobSetOf({ stages: [STAGE], inOrder: false, maxRestarts: 1 }, "jobset", "1");
const POD = podOf(JOB_SET, jobOf(JOB_SET, STAGE, 0, "job", "1"), 0, "pod", 1, "2");

function watched() {
  const { api, schedule } = new World(1);
  const changes: Change<Pod>[] = [];
  const informer = new Informer(
    api,
    "pod",
    (pod) => pod,
    (change) => changes.push(change),
  );
  const deliver = () => schedule.runUntil(schedule.now + 100, () => false);
  return { api, changes, informer, deliver };
}

describe("an informer", () => {
  it("delivers a Pod once that is both listed and sent by the watch", () => {
    const { api, changes, informer, deliver } = watched();
    api.set("pod", POD.uid, POD);
    informer.list();
    informer.watch(() => {});
    deliver();
    expect(changes).toMatchObject([{ kind: "added", key: `default/${POD.name}`, uid: POD.uid }]);
  });

  it("delivers a deletion with the last state of the Pod", () => {
    const { api, changes, informer, deliver } = watched();
    api.set("pod", POD.uid, POD);
    informer.watch(() => {});
    api.delete("pod", POD.uid, { ...POD, phase: "Failed", resourceVersion: "3" });
    deliver();
    expect(changes).toMatchObject([
      { kind: "added", item: { phase: "Pending" } },
      { kind: "deleted", item: { phase: "Failed" }, old: { phase: "Pending" } },
    ]);
  });

  it("lets Groups see how a deleted Pod ended, even if only the deletion says so", () => {
    const { api, schedule } = new World(1);
    const groups = new Groups({ onChange: () => {}, now: () => 0 });
    new Informer(
      api,
      "pod",
      (pod) => pod,
      (change) => groups.podChanged(change),
    ).watch(() => {});
    const running: Pod = { ...POD, epoch: { kind: "present", epoch: 1 }, phase: "Running" };
    groups.jobSetChanged({ kind: "added", key: GROUP_KEY, uid: JOB_SET.uid, resourceVersion: "1", item: JOB_SET });
    const job = jobOf(JOB_SET, STAGE, 0, "job", "1");
    groups.jobChanged({ kind: "added", key: `default/${job.name}`, uid: job.uid, resourceVersion: "1", item: job });
    api.set("pod", POD.uid, running);
    const disrupted = { type: "DisruptionTarget", status: "True", reason: "", message: "" } as const;
    api.delete("pod", POD.uid, { ...running, phase: "Failed", conditions: [disrupted], resourceVersion: "3" });
    schedule.runUntil(100, () => false);
    expect([...(groups.get(GROUP_KEY)?.losses.values() ?? [])]).toMatchObject([
      { cause: { reason: "Disruption" }, counted: false },
    ]);
  });
});
