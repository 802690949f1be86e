import { describe, expect, it } from "vitest";
import { readInPlaceRestart } from "../../api/in-place-restart.ts";
import { JOBSET } from "../../api/names.ts";
import { readPod } from "../../api/pod.ts";
import { Model } from "./model.ts";
import { POD_STATES } from "./wire.ts";

const KEY = "team/train";

function pod(name: string, epoch: number, uid = name) {
  const item = readPod({
    metadata: {
      namespace: "team",
      name,
      uid,
      labels: { [JOBSET.nameKey]: "train", [JOBSET.replicatedJobKey]: "workers" },
      annotations: { [JOBSET.epochAnnotation]: String(epoch) },
    },
    spec: { nodeName: "node-1" },
    status: { phase: "Running", containerStatuses: [{ name: "main", restartCount: 0, state: { running: {} } }] },
  });
  return { key: `team/${name}`, uid, item, resourceVersion: "1" };
}

function object(deprecatedEpoch: number, syncedEpoch: number) {
  const metadata = { namespace: "team", name: "train", uid: "o" };
  const item = readInPlaceRestart({ metadata, spec: {}, status: { deprecatedEpoch, syncedEpoch } });
  return { key: KEY, uid: "o", item, resourceVersion: "1" };
}

const state = (name: (typeof POD_STATES)[number]) => POD_STATES.indexOf(name);

function modelOfTwo() {
  const model = new Model();
  model.objectChanged({ kind: "added", ...object(0, 1) });
  model.podChanged({ kind: "added", ...pod("a", 1) });
  model.podChanged({ kind: "added", ...pod("b", 1) });
  return model;
}

describe("the model", () => {
  it("hands out each change once", () => {
    const model = modelOfTwo();
    expect(model.isDirty).toBe(true);
    const { groups, details } = model.drain();
    expect(groups).toEqual(model.groups());
    expect(details.get(KEY)?.added).toEqual(model.pods(KEY));
    expect(model.pods(KEY)).toEqual([
      [0, "a", "workers", 0, 0, "node-1", state("running"), 1, 0],
      [1, "b", "workers", 0, 0, "node-1", state("running"), 1, 0],
    ]);
    expect(model.isDirty).toBe(false);
    expect(model.drain()).toEqual({ groups: [], removedGroups: [], details: new Map() });
  });

  it("gathers several changes of a Pod, and drops those that make no difference", () => {
    const model = modelOfTwo();
    model.drain();
    model.podChanged({ kind: "updated", ...pod("a", 2), old: pod("a", 1).item });
    model.podChanged({ kind: "updated", ...pod("a", 3), old: pod("a", 2).item });
    model.podChanged({ kind: "updated", ...pod("b", 1), old: pod("b", 1).item });
    expect(model.drain().details.get(KEY)).toEqual({
      detail: false,
      added: [],
      changed: [[0, "node-1", state("barrier"), 3, 0]],
      removed: [],
    });
  });

  it("judges all Pods again when the epochs of the group change", () => {
    const model = modelOfTwo();
    model.drain();
    model.objectChanged({ kind: "updated", ...object(1, 1), old: object(0, 1).item });
    const { detail, changed } = model.drain().details.get(KEY) ?? {};
    expect(detail).toBe(true);
    expect(changed).toEqual([
      [0, "node-1", state("restarting"), 1, 0],
      [1, "node-1", state("restarting"), 1, 0],
    ]);
  });

  it("knows a Pod and its replacement of the same name apart", () => {
    const model = modelOfTwo();
    model.drain();
    model.podChanged({ kind: "deleted", ...pod("a", 1), old: pod("a", 1).item });
    model.podChanged({ kind: "added", ...pod("a", 1, "second") });
    const { removed, added, changed } = model.drain().details.get(KEY) ?? {};
    expect({ removed, changed, added: added?.map(([id, name]) => [id, name]) }).toEqual({
      removed: [0],
      changed: [],
      added: [[2, "a"]],
    });
  });

  it("never mentions a Pod that came and went between two events", () => {
    const model = modelOfTwo();
    model.drain();
    model.podChanged({ kind: "added", ...pod("c", 1) });
    model.podChanged({ kind: "deleted", ...pod("c", 1), old: pod("c", 1).item });
    expect(model.drain().details.get(KEY)).toMatchObject({ removed: [], added: [], changed: [] });
  });

  it("shows no JobSet without an InPlaceRestart, and forgets a group that is gone", () => {
    const model = modelOfTwo();
    model.drain();
    model.objectChanged({ kind: "deleted", ...object(0, 1), old: object(0, 1).item });
    expect(model.groups()).toEqual([]);
    expect(model.detail(KEY)).toBeNull();
    expect(model.drain().removedGroups).toEqual([KEY]);
  });
});
