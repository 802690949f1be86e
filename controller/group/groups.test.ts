import { describe, expect, it } from "vitest";
import { readInPlaceRestart } from "../../src/api/in-place-restart.ts";
import { readJob } from "../../src/api/job.ts";
import { readJobSet } from "../../src/api/jobset.ts";
import { JOBSET, LABEL, MULTIKUEUE } from "../../src/api/names.ts";
import { readPod } from "../../src/api/pod.ts";
import { Groups } from "./groups.ts";

const KEY = "team/train";

function watched() {
  const changed: string[] = [];
  const groups = new Groups({ onChange: (key) => changed.push(key), now: () => 0 });
  return { groups, changed };
}

function jobSet(uid = "j1") {
  return readJobSet({ metadata: { name: "train", namespace: "team", uid, resourceVersion: "1" } });
}

function job(controller: object | undefined) {
  const ownerReferences =
    controller === undefined ? [] : [{ name: "train", uid: "j1", controller: true, ...controller }];
  return readJob({
    metadata: { name: "train-w-0", namespace: "team", uid: "o1", resourceVersion: "1", ownerReferences },
  });
}

function pod(jobSetName: string) {
  const labels = { [JOBSET.nameKey]: jobSetName, [LABEL.injected]: "true" };
  return readPod({ metadata: { name: "p", namespace: "team", uid: "p1", resourceVersion: "1", labels } });
}

function object(status?: { readonly deprecatedEpoch: number; readonly syncedEpoch: number }) {
  const metadata = { name: "train", namespace: "team", uid: "i1", resourceVersion: "1" };
  return readInPlaceRestart({ metadata, spec: { jobSetUID: "j1" }, ...(status === undefined ? {} : { status }) });
}

const added = { kind: "added", resourceVersion: "1" } as const;

describe("Groups", () => {
  it("collect a JobSet, its Jobs, Pods and InPlaceRestart in one group, in any order", () => {
    const { groups } = watched();
    groups.podChanged({ ...added, key: "team/p", uid: "p1", item: pod("train") });
    groups.objectChanged({ ...added, key: KEY, uid: "i1", item: object() });
    groups.jobChanged({ ...added, key: "team/train-w-0", uid: "o1", item: job({ kind: "JobSet" }) });
    groups.jobSetChanged({ ...added, key: KEY, uid: "j1", item: jobSet() });
    expect([...groups.keys()]).toEqual([KEY]);
    expect(groups.get(KEY)).toMatchObject({ jobSet: { uid: "j1" }, object: { uid: "i1" } });
    expect([...(groups.get(KEY)?.jobs.keys() ?? [])]).toEqual(["o1"]);
    expect([...(groups.get(KEY)?.members.keys() ?? [])]).toEqual(["p1"]);
  });

  it("have none for a JobSet whose Pods are in another cluster", () => {
    const { groups, changed } = watched();
    const item = { ...jobSet(), managedBy: MULTIKUEUE.controller };
    groups.jobSetChanged({ ...added, key: KEY, uid: "j1", item });
    expect([...groups.keys()]).toEqual([]);
    expect(changed).toEqual([]);
    groups.jobSetChanged({ ...added, key: KEY, uid: "j1", item: { ...item, managedBy: JOBSET.controller } });
    expect(changed).toEqual([KEY]);
  });

  it("report changes only of groups with a JobSet, and once more when the JobSet is gone", () => {
    const { groups, changed } = watched();
    groups.podChanged({ ...added, key: "team/p", uid: "p1", item: pod("train") });
    expect(changed).toEqual([]);
    groups.jobSetChanged({ ...added, key: KEY, uid: "j1", item: jobSet() });
    groups.jobSetChanged({ kind: "deleted", key: KEY, uid: "j1", item: jobSet(), old: jobSet() });
    groups.podChanged({ ...added, key: "team/p", uid: "p1", item: pod("train") });
    expect(changed).toEqual([KEY, KEY]);
  });

  it.each([
    [
      "reports a group between two epochs, whose Pods may be on the node",
      { deprecatedEpoch: 1, syncedEpoch: 1 },
      [KEY],
    ],
    ["does not report a group that runs and loses no Pod", { deprecatedEpoch: 0, syncedEpoch: 1 }, []],
  ])("when a node is lost, %s", (_, status, expected) => {
    const { groups, changed } = watched();
    groups.jobSetChanged({ ...added, key: KEY, uid: "j1", item: jobSet() });
    groups.objectChanged({ ...added, key: KEY, uid: "i1", item: object(status) });
    changed.length = 0;
    groups.surroundingsChanged();
    expect(changed).toEqual(expected);
  });

  it("ignore Jobs that no JobSet controls", () => {
    const { groups } = watched();
    groups.jobChanged({ ...added, key: "team/x", uid: "o1", item: job(undefined) });
    groups.jobChanged({ ...added, key: "team/x", uid: "o1", item: job({ kind: "CronJob" }) });
    expect([...groups.keys()]).toEqual([]);
  });

  it("move a Pod to another group when its label changes", () => {
    const { groups } = watched();
    groups.podChanged({ ...added, key: "team/p", uid: "p1", item: pod("train") });
    const [item, old] = [pod("other"), pod("train")];
    groups.podChanged({ kind: "updated", resourceVersion: "2", key: "team/p", uid: "p1", item, old });
    expect([...groups.keys()]).toEqual(["team/other"]);
  });

  it("drop a group when its last object is gone", () => {
    const { groups } = watched();
    groups.jobSetChanged({ ...added, key: KEY, uid: "j1", item: jobSet() });
    groups.jobChanged({ ...added, key: "team/train-w-0", uid: "o1", item: job({ kind: "JobSet" }) });
    groups.podChanged({ ...added, key: "team/p", uid: "p1", item: pod("train") });
    groups.objectChanged({ ...added, key: KEY, uid: "i1", item: object() });
    groups.jobSetChanged({ kind: "deleted", key: KEY, uid: "j1", item: jobSet(), old: jobSet() });
    groups.objectChanged({ kind: "deleted", key: KEY, uid: "i1", item: object(), old: object() });
    const [last, old] = [job({ kind: "JobSet" }), job({ kind: "JobSet" })];
    groups.jobChanged({ kind: "deleted", key: "team/train-w-0", uid: "o1", item: last, old });
    expect([...groups.keys()]).toEqual([KEY]);
    groups.podChanged({ kind: "deleted", key: "team/p", uid: "p1", item: pod("train"), old: pod("train") });
    expect([...groups.keys()]).toEqual([]);
  });
});
