import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import type { JsonObject } from "../../src/json/types.ts";
import type { Occurrence } from "../../src/kube/events.ts";
import { settings } from "../../test/builders/injection.ts";
import { jobSet } from "../../test/builders/jobset.ts";
import { NotInjected, readPlainJobSet } from "./not-injected.ts";

function plain(change: (object: JsonObject) => JsonObject = (object) => object) {
  const metadata = { namespace: "team", uid: "j1", resourceVersion: "1" };
  const object = jobSet("train").replicatedJob("workers", { pods: 2 }).metadata(metadata).build();
  return readPlainJobSet(change(object), settings);
}

function annotated(value: string) {
  const metadata = { namespace: "team", uid: "j1", resourceVersion: "1" };
  const builder = jobSet("train").replicatedJob("workers", { pods: 2 }).metadata(metadata);
  return builder.annotation(ANNOTATION.inject, value).build();
}

function watched() {
  const told: Occurrence[] = [];
  const found = new NotInjected((occurrence) => told.push(occurrence));
  const namespace = (kind: "added" | "deleted") => {
    const item = { key: "team", uid: "n1", item: {}, old: {}, resourceVersion: "1" };
    found.namespaceChanged({ kind, ...item });
  };
  const seen = (item = plain(), kind: "added" | "deleted" = "added") =>
    found.jobSetChanged({ kind, key: "team/train", uid: "j1", item, old: item, resourceVersion: "1" });
  return { found, told, namespace, seen };
}

describe("readPlainJobSet", () => {
  it("says what injection would do with the JobSet", () => {
    expect(plain().injectable).toBe("yes");
    expect(plain(() => annotated("true")).injectable).toBe("yes");
    expect(plain(() => annotated("false")).injectable).toBe("no");
    expect(plain(() => annotated("perhaps")).injectable).toBe("refused");
    expect(readPlainJobSet(annotated("true"), { ...settings, default: "disabled" }).injectable).toBe("yes");
    expect(
      readPlainJobSet(jobSet("x").replicatedJob("w").build(), { ...settings, default: "disabled" }).injectable,
    ).toBe("no");
  });

  it("ignores a JobSet that has finished or is being deleted", () => {
    const finished = { conditions: [{ type: "Completed", status: "True" }] };
    expect(plain((object) => ({ ...object, status: finished })).injectable).toBe("no");
    const metadata = { name: "train", namespace: "team", deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(plain((object) => ({ ...object, metadata })).injectable).toBe("no");
  });
});

describe("NotInjected", () => {
  it("the leader warns once about a JobSet in an opted-in namespace", () => {
    const { found, told, namespace, seen } = watched();
    namespace("added");
    seen();
    expect([found.count, told.length]).toEqual([1, 0]);
    found.setLeading(true);
    seen();
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ reason: "NotInjected", regarding: { kind: "JobSet", name: "train", uid: "j1" } });
  });

  it("notices a namespace that opts in or out after its JobSets were created", () => {
    const { found, told, namespace, seen } = watched();
    found.setLeading(true);
    seen();
    expect([found.count, told.length]).toEqual([0, 0]);
    namespace("added");
    expect([found.count, told.length]).toEqual([1, 1]);
    namespace("deleted");
    expect(found.count).toBe(0);
  });

  it("no longer counts a JobSet that is deleted or opted out", () => {
    const { found, namespace, seen } = watched();
    namespace("added");
    seen();
    seen(plain(() => annotated("false")));
    expect(found.count).toBe(0);
    seen();
    seen(plain(), "deleted");
    expect(found.count).toBe(0);
  });

  it("reports a JobSet that stays plain for good, with the reason, and does not count it", () => {
    const { found, told, namespace, seen } = watched();
    found.setLeading(true);
    namespace("added");
    const metadata = { namespace: "team", uid: "j1", resourceVersion: "1" };
    const queue = jobSet("train").replicatedJob("queue", { job: { completions: 4, parallelism: 2 } });
    seen(plain(() => queue.metadata(metadata).build()));
    expect(found.count).toBe(0);
    expect(told).toMatchObject([{ reason: "LeftOut", note: expect.stringContaining("4 completions") }]);
  });

  it("points to `reprise validate` if injection would refuse the JobSet", () => {
    const { found, told, namespace, seen } = watched();
    found.setLeading(true);
    namespace("added");
    seen(plain(() => annotated("perhaps")));
    expect(told[0]?.note).toContain("reprise validate");
  });
});
