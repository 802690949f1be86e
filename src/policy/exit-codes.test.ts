import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../api/names.ts";
import { formatCodes, parseExitCodePolicy } from "./exit-codes.ts";

function fail(text: string) {
  return parseExitCodePolicy({ [ANNOTATION.failExitCodes]: text });
}

describe("exit-code classes", () => {
  it.each([
    ["137", [137]],
    ["40-42,137", [40, 41, 42, 137]],
    [" 137 , 40 - 42 ", [40, 41, 42, 137]],
    ["255,1", [1, 255]],
    ["7-7", [7]],
  ])("parse %j into sorted codes", (text, codes) => {
    expect(fail(text)).toEqual({ ok: true, policy: { fail: codes, recreate: [] } });
  });

  it("are empty without annotations", () => {
    expect(parseExitCodePolicy({})).toEqual({ ok: true, policy: { fail: [], recreate: [] } });
  });

  it.each([
    ["", "is empty; list codes and ranges"],
    ["40,,50", '"40,,50" has nothing on one side of a comma'],
    ["40,", '"40," has nothing on one side of a comma'],
    ["0", '"0" contains 0, which is success'],
    ["0-5", '"0-5" contains 0'],
    ["256", '"256" goes beyond 255'],
    ["250-300", '"250-300" goes beyond 255'],
    ["50-40", 'reversed range; use "40-50"'],
    ["40,40", '"40" repeats 40, which "40" already contains'],
    ["40-50,45", '"45" repeats 45, which "40-50" already contains'],
    ["forty", '"forty" is not an exit code or a range'],
    ["-1", '"-1" is not an exit code'],
    ["1.5", '"1.5" is not an exit code'],
    ["1e2", '"1e2" is not an exit code'],
    ["99999999999999999999", "is not an exit code"],
  ])("reject %j with the reason", (text, reason) => {
    const parsed = fail(text);
    expect(parsed.ok).toBe(false);
    if (parsed.ok) return;
    expect(parsed.errors).toHaveLength(1);
    expect(parsed.errors[0]?.path).toBe("metadata.annotations[reprise.dev/fail-exit-codes]");
    expect(parsed.errors[0]?.message).toContain(reason);
  });

  it("reject a code in both classes and list all such codes", () => {
    const parsed = parseExitCodePolicy({
      [ANNOTATION.failExitCodes]: "40-50,137",
      [ANNOTATION.recreateExitCodes]: "48-52,137",
    });
    expect(parsed.ok ? [] : parsed.errors.map((error) => error.message)).toEqual([
      expect.stringContaining("48-50,137 is also in reprise.dev/fail-exit-codes"),
    ]);
  });

  it("may hold 254 codes and not 255, because the rule of the workers also needs 0", () => {
    expect(fail("1-254").ok).toBe(true);
    const parsed = parseExitCodePolicy({
      [ANNOTATION.failExitCodes]: "1-200",
      [ANNOTATION.recreateExitCodes]: "201-255",
    });
    expect(parsed.ok ? "" : parsed.errors[0]?.message).toContain("the classes have 255 codes");
  });

  it("reject hostile text without reading all of it", () => {
    expect(fail("1,".repeat(100_000)).ok).toBe(false);
    expect(parseExitCodePolicy({ [ANNOTATION.failExitCodes]: 137 }).ok).toBe(false);
  });

  it("report the errors of both annotations", () => {
    const parsed = parseExitCodePolicy({ [ANNOTATION.failExitCodes]: "x", [ANNOTATION.recreateExitCodes]: "y" });
    expect(parsed.ok ? 0 : parsed.errors.length).toBe(2);
  });

  it("print consecutive codes as ranges", () => {
    expect(formatCodes([1, 2, 3, 7, 9, 10])).toBe("1-3,7,9-10");
    expect(formatCodes([])).toBe("");
  });
});
