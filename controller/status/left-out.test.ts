import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { leftOutNotices } from "./left-out.ts";

function notesOf(record: unknown): string[] {
  return leftOutNotices({ [ANNOTATION.status]: JSON.stringify(record) }).map(({ note }) => note);
}

describe("the Events about replicatedJobs that are left out", () => {
  it("name the replicatedJobs of each reason", () => {
    const completions = ["a", "b", "c", "d", "e"].map((name) => ({ name, reason: "completions" }));
    expect(notesOf({ leftOut: [...completions, { name: "render", reason: "linux-only" }] })).toEqual([
      "not part of the group, does not restart in place: replicatedJobs a, b, c and 2 more: " +
        "completions differ from parallelism, and all Pods of a group run at the same time",
      "not part of the group, does not restart in place: replicatedJob render: " +
        "runs on Windows, and the agent runs on Linux only",
    ]);
  });

  it.each([
    {},
    { leftOut: "all" },
    {
      leftOut: [
        { name: 1, reason: "completions" },
        { name: "a", reason: "toString" },
      ],
    },
  ])("are none for the record %j", (record) => {
    expect(notesOf(record)).toEqual([]);
  });

  it("are none for a JobSet whose record cannot be read", () => {
    expect(leftOutNotices({ [ANNOTATION.status]: "{" })).toEqual([]);
    expect(leftOutNotices({})).toEqual([]);
  });
});
