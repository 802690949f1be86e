import { describe, expect, it } from "vitest";
import { ANNOTATION } from "./names.ts";
import { isRestartRequest, requestedRestart } from "./restart-request.ts";

describe("a request for a restart", () => {
  it.each(["1", "loss is NaN (alice, 2026-01-01T00:00:00Z)", "x".repeat(200), "🚀".repeat(200)])(
    "may be %j",
    (text) => {
      expect(isRestartRequest(text)).toBe(true);
      expect(requestedRestart({ [ANNOTATION.restartRequest]: text })).toBe(text);
    },
  );

  it.each(["", "  ", "x".repeat(201), "two\nlines", "a\u0000b"])("is none if it is %j", (text) => {
    expect(isRestartRequest(text)).toBe(false);
    expect(requestedRestart({ [ANNOTATION.restartRequest]: text })).toBeUndefined();
  });

  it("is none without the annotation", () => {
    expect(requestedRestart({})).toBeUndefined();
  });
});
