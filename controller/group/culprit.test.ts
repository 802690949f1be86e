import { describe, expect, it } from "vitest";
import { findCandidates, findCulprit } from "./culprit.ts";
import type { Suspect } from "./suspects.ts";

/** "a n1 12 exit 1": Pod, node, second of its end, exit code; then "OOMKilled" or "recreate". "-" means unknown. */
function suspect(text: string): Suspect {
  const [pod = "", node = "", second, , code, note = "Error"] = text.split(" ");
  const [finishedAt, exitCode] = [second, code].map((part) => (part === "-" ? undefined : Number(part)));
  return {
    uid: pod,
    stage: "workers",
    job: "job",
    slot: `job/${pod}`,
    cause: { reason: "ContainerExited", pod, container: "main", ...(exitCode === undefined ? {} : { exitCode }) },
    requestedAction: note === "recreate" ? "recreate" : "restart",
    termination: { node, reason: note, ...(finishedAt === undefined ? {} : { finishedAt: finishedAt * 1_000 }) },
  };
}

const ALL_KNOWN = { doubtful: 0, healthy: 0 };

describe("of the Pods that failed in one epoch", () => {
  it.each<[string, string, readonly string[]]>([
    ["the only one", "a", ["a n1 10 exit 1"]],
    ["the only one, even if nothing is known about it,", "a", ["a n1 - exit -"]],
    ["the one that ended a second earlier on the same node", "a", ["b n1 11 exit 1", "a n1 10 exit 1"]],
    ["the one that ended two seconds earlier on another node", "a", ["b n2 12 exit 1", "a n1 10 exit 1"]],
    ["an earlier one, whatever killed the later one,", "a", ["b n2 40 exit 137 OOMKilled", "a n1 10 exit 1"]],
    ["the one that was killed", "a", ["b n2 10 exit 1", "a n1 10 exit 137", "c n3 11 exit 1"]],
    ["the one with a segmentation fault", "a", ["b n2 10 exit 1", "a n1 11 exit 139"]],
    [
      "the one that ran out of memory, among others that were killed,",
      "a",
      ["b n2 10 exit 137", "a n1 10 exit 137 OOMKilled"],
    ],
    ["the one with a code of its own", "a", ["b n2 10 exit 7", "c n1 10 exit 7", "a n1 10 exit 3", "d n2 11 exit 7"]],
    ["the one with a code of its own against a peer's 1", "a", ["b n2 10 exit 1", "a n1 10 exit 3"]],
    [
      "the one with a 1 against a code that several peers share",
      "a",
      ["b n1 10 exit 7", "a n1 10 exit 1", "c n2 9 exit 7"],
    ],
    ["the one that requests a new Pod, even if it ended last,", "a", ["b n1 10 exit 1", "a n2 40 exit 80 recreate"]],
  ])("%s is to blame", (_, blamed, suspects) => {
    expect(findCulprit(suspects.map(suspect), ALL_KNOWN)?.uid).toBe(blamed);
    expect(findCulprit(suspects.map(suspect).toReversed(), ALL_KNOWN)?.uid).toBe(blamed);
  });

  it.each<[string, readonly string[]]>([
    ["none failed", []],
    ["they ended in the same second with the same code", ["a n1 10 exit 1", "b n1 10 exit 1", "c n2 10 exit 1"]],
    ["one ended a second earlier, but on another node", ["a n1 10 exit 1", "b n2 11 exit 1"]],
    ["the times are unknown", ["a n1 - exit 1", "b n1 10 exit 1"]],
    ["it is not known how one of them ended", ["a n1 - exit -", "b n2 10 exit 137", "c n2 10 exit 1"]],
    ["two were killed", ["a n1 10 exit 137", "b n2 10 exit 137", "c n2 10 exit 1"]],
    ["two codes differ, and neither is 1", ["a n1 10 exit 3", "b n2 10 exit 7"]],
    ["one was aborted, as NCCL aborts healthy ranks,", ["a n1 10 exit 134", "b n2 10 exit 1", "c n3 10 exit 1"]],
    ["one was told to stop", ["a n1 10 exit 143", "b n2 10 exit 1", "c n3 10 exit 1"]],
    ["two have a code of their own", ["a n1 10 exit 3", "b n2 10 exit 4", "c n3 10 exit 1", "d n3 10 exit 1"]],
    ["two request a new Pod", ["a n1 10 exit 80 recreate", "b n2 10 exit 80 recreate", "c n2 10 exit 1"]],
    ["the odd one ended after another", ["a n1 12 exit 3", "b n1 10 exit 1", "c n2 10 exit 1"]],
  ])("none is to blame if %s", (_, suspects) => {
    expect(findCulprit(suspects.map(suspect), ALL_KNOWN)).toBeUndefined();
    expect(findCulprit(suspects.map(suspect).toReversed(), ALL_KNOWN)).toBeUndefined();
  });

  it("those that no other surely preceded are the candidates, the earliest first", () => {
    const suspects = ["late n1 12 exit 1", "b n2 11 exit 1", "a n1 10 exit 1", "unknown n3 - exit 1", "c n1 11 exit 1"];
    expect(findCandidates(suspects.map(suspect)).map(({ uid }) => uid)).toEqual(["a", "b", "unknown"]);
  });
});

describe("if other Pods may have failed without a report", () => {
  const blamed = (others: Parameters<typeof findCulprit>[1], ...suspects: readonly string[]) =>
    findCulprit(suspects.map(suspect), others)?.uid;

  it("a Pod with a code of its own is to blame all the same", () => {
    expect(blamed({ doubtful: 3, healthy: 0 }, "a n1 10 exit 139", "b n2 10 exit 1")).toBe("a");
    expect(blamed({ doubtful: 3, healthy: 0 }, "a n1 10 exit 7")).toBe("a");
    expect(blamed({ doubtful: 3, healthy: 0 }, "b n1 10 exit 137", "a n2 10 exit 137 OOMKilled")).toBe("a");
  });

  it.each([1, 143])("a Pod that exited with %i is not, because it may have lost a peer", (code) => {
    expect(blamed({ doubtful: 1, healthy: 0 }, `a n1 10 exit ${code}`)).toBeUndefined();
    expect(blamed({ doubtful: 1, healthy: 0 }, `a n1 10 exit ${code}`, `b n1 11 exit ${code}`)).toBeUndefined();
  });

  it("a Pod is not whose code others share, even if it ended first", () => {
    expect(blamed({ doubtful: 1, healthy: 0 }, "a n1 10 exit 7", "b n1 12 exit 7")).toBeUndefined();
  });

  it("the only one that is known to have failed is, if another is known to have run on without it", () => {
    expect(blamed({ doubtful: 5, healthy: 1 }, "a n1 10 exit 1")).toBe("a");
    expect(blamed({ doubtful: 5, healthy: 1 }, "a n1 10 exit -")).toBe("a");
  });

  it("the first of several is, if most others are known to have run on", () => {
    expect(blamed({ doubtful: 2, healthy: 1 }, "a n1 10 exit 1", "b n1 12 exit 1")).toBeUndefined();
    expect(blamed({ doubtful: 2, healthy: 2 }, "a n1 10 exit 1", "b n1 12 exit 1")).toBe("a");
  });
});

describe("a Pod whose agent had ended by itself", () => {
  const withAgent = (text: string, second: number): Suspect => {
    const { termination, ...rest } = suspect(text);
    return {
      ...rest,
      termination: { reason: "Error", ...termination, agentFailed: true, agentFinishedAt: second * 1_000 },
    };
  };

  it("may have failed before a worker with a code of its own", () => {
    expect(findCulprit([suspect("a n1 10 exit 139"), withAgent("b n2 10 exit 1", 10)], ALL_KNOWN)).toBeUndefined();
  });

  it("failed when its agent did", () => {
    const suspects = [suspect("a n1 12 exit 139"), withAgent("b n2 12 exit 1", 10)];
    expect(findCulprit(suspects, ALL_KNOWN)?.uid).toBe("b");
  });
});
