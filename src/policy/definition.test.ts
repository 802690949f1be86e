import { describe, expect, it } from "vitest";
import { readDefinition, readDefinitionText } from "./definition.ts";

describe("a failure policy's definition", () => {
  it.each([
    ["both classes", 'failExitCodes: "78"\nrecreateExitCodes: "80, 90-91"', { fail: [78], recreate: [80, 90, 91] }],
    ["a number", "failExitCodes: 78", { fail: [78], recreate: [] }],
    ["a range without quotes", "recreateExitCodes: 40-42 # a comment", { fail: [], recreate: [40, 41, 42] }],
    ["an empty class", "failExitCodes:\nrecreateExitCodes: 7", { fail: [], recreate: [7] }],
  ])("accepts %s", (_what, text, policy) => {
    expect(readDefinitionText(text)).toEqual({ ok: true, policy });
  });

  it.each([
    ["nothing", "", undefined, /is not a map with failExitCodes/],
    ["a list", "- 78", undefined, /is not a map/],
    ["no class", "{}", undefined, /has neither failExitCodes nor recreateExitCodes/],
    ["broken YAML", "failExitCodes: [", undefined, /is not valid YAML/],
    ["an undefined alias", "failExitCodes: *x", undefined, /is not valid YAML/],
    ["a mistyped field", "failExitCode: 78", "failExitCodes?", /is not a field of a failure policy/],
    ["a list of codes", "failExitCodes: [78]", "failExitCodes", /is not a list of exit codes/],
    ["a fraction", "failExitCodes: 1.5", "failExitCodes", /is not a list of exit codes/],
    ["0", "failExitCodes: 0", "failExitCodes", /contains 0, which is success/],
    ["a code above 255", "recreateExitCodes: 256", "recreateExitCodes", /goes beyond 255/],
    ["a code in both", "{failExitCodes: 1-5, recreateExitCodes: 3}", "recreateExitCodes", /3 is also in failExitCodes/],
    ["too much text", `failExitCodes: 78 ${"#".repeat(9_000)}`, undefined, /more than 8192 characters/],
  ])("is rejected with a fix if it is or has %s", (_what, text, field, problem) => {
    const read = readDefinitionText(text);
    expect(read.ok ? [] : read.problems).toEqual([
      {
        field: field === "failExitCodes?" ? "failExitCode" : field,
        problem: expect.stringMatching(problem),
        fix: expect.stringMatching(/\w/),
      },
    ]);
  });

  it("suggests the field that a mistyped one resembles", () => {
    const read = readDefinition({ recreateExitcode: "1" });
    expect(read.ok ? [] : read.problems.map(({ fix }) => fix)).toEqual(['did you mean "recreateExitCodes"?']);
  });
});
