import { describe, expect, it } from "vitest";
import { ApiError } from "../../src/kube/api-error.ts";
import { isFenced } from "./fenced-writes.ts";

function refusal(status: number, body: string): ApiError {
  return new ApiError({ server: "test", method: "PATCH", path: "/apis/reprise.dev", status, body });
}

function answer(code: number, reason: string): ApiError {
  return refusal(code, JSON.stringify({ kind: "Status", code, reason, message: "" }));
}

describe("a write was fenced", () => {
  it.each([
    ["the object has changed", answer(409, "Conflict"), true],
    ["the object exists", answer(409, "AlreadyExists"), true],
    ["the object is gone", answer(404, "NotFound"), true],
    ["the type is not served, because its CRD is missing", refusal(404, "404 page not found"), false],
    ["it is not allowed", answer(403, "Forbidden"), false],
    ["it failed before it was sent", new Error("connection refused"), false],
  ])("or not, when %s", (_when, error, fenced) => {
    expect(isFenced(error)).toBe(fenced);
  });
});
