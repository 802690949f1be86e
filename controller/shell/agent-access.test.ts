import { describe, expect, it } from "vitest";
import { bindingName } from "./agent-access.ts";

const UID = "0f7c1a52-9f6e-4f0e-8f43-0b7c5d1e2a3b";

describe("the name of a RoleBinding", () => {
  it("contains its purpose, the JobSet and part of the owner's UID", () => {
    expect(bindingName("write-default", "train", UID)).toBe("reprise-agent-write-default-train-0f7c1a52");
  });

  it("stays within the name limit and differs for every account", () => {
    const account = "a".repeat(252);
    const names = ["1", "2"].map((last) => bindingName(`write-${account}${last}`, "train", UID));
    expect(names.map(({ length }) => length)).toEqual([253, 253]);
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toMatch(/^reprise-agent-write-a+-[0-9a-f]{16}-0f7c1a52$/);
  });

  it("is shortened only if it exceeds the limit", () => {
    const fits = 253 - bindingName("write-", "train", UID).length;
    expect(bindingName(`write-${"a".repeat(fits)}`, "train", UID)).toMatch(/-a+-train-0f7c1a52$/);
    expect(bindingName(`write-${"a".repeat(fits + 1)}`, "train", UID)).not.toContain("train");
  });
});
