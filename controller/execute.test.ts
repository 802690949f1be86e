import { describe, expect, it } from "vitest";
import type { Decision } from "./decide.ts";
import { type Basis, execute, type Writes } from "./execute.ts";
import type { Notice } from "./status/notice.ts";
import { runningScene } from "./testing/scene.ts";

const { group, status } = runningScene();
const { jobSet, object } = group;
if (jobSet === undefined || object === undefined) throw new Error("the scene has a JobSet and an InPlaceRestart");
const basis: Basis = { jobSet, object };
const named = { name: "x", uid: "x-uid" };
const notice: Notice = { type: "Warning", reason: "ReachedMaxRestarts", action: "Fail", note: "" };

/** Records what is written, in order. */
function recorder() {
  const log: string[] = [];
  const write = (what: string) => () => {
    log.push(what);
    return what;
  };
  const writes: Writes<string> = {
    createObject: write("createObject"),
    deleteObject: write("deleteObject"),
    writeStatus: write("writeStatus"),
    failJobSet: write("failJobSet"),
    deletePod: write("deletePod"),
    failJob: write("failJob"),
    decided: ({ kind }) => log.push(`decided ${kind}`),
  };
  return { log, writes };
}

describe("execute", () => {
  it.each<[Decision, readonly string[]]>([
    [{ kind: "create", jobSetUid: jobSet.uid }, ["createObject", "decided create"]],
    [{ kind: "delete", object }, ["deleteObject", "decided delete"]],
    [{ kind: "write", status, notices: [notice] }, ["writeStatus", "decided write"]],
    [{ kind: "delete-pod", pod: named }, ["deletePod", "decided delete-pod"]],
    [{ kind: "fail-job", job: named }, ["failJob", "decided fail-job"]],
    [{ kind: "fail", reason: "r", message: "m", notices: [] }, ["failJobSet", "decided fail"]],
  ])("performs the write of %j and then reports the decision", (decision, expected) => {
    const { log, writes } = recorder();
    expect([...execute(decision, basis, writes)]).toHaveLength(1);
    expect(log).toEqual(expected);
  });

  it("fails the JobSet first, publishes the notices, and writes the status last", () => {
    const { log, writes } = recorder();
    const decision: Decision = { kind: "fail", reason: "r", message: "m", status, notices: [notice] };
    expect([...execute(decision, basis, writes)]).toEqual(["failJobSet", "writeStatus"]);
    expect(log).toEqual(["failJobSet", "decided fail", "writeStatus"]);
  });

  it("sends no further write and reports nothing when the caller stops at a refused write", () => {
    const { log, writes } = recorder();
    const decision: Decision = { kind: "fail", reason: "r", message: "m", status, notices: [notice] };
    for (const _refused of execute(decision, basis, writes)) break;
    expect(log).toEqual(["failJobSet"]);
  });

  it("writes no status when the InPlaceRestart is gone", () => {
    const { log, writes } = recorder();
    const decision: Decision = { kind: "write", status, notices: [notice] };
    expect([...execute(decision, { jobSet, object: undefined }, writes)]).toEqual([]);
    expect(log).toEqual([]);
  });
});
