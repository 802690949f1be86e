import { expect, test } from "vitest";
import { objectName, refuse } from "./response.ts";
import type { AdmissionRequest } from "./review.ts";

function request(fields: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const object = { metadata: { generateName: "train-" } };
  return {
    uid: "u",
    operation: "CREATE",
    namespace: "n",
    name: "",
    dryRun: false,
    object,
    oldObject: undefined,
    ...fields,
  };
}

test("a JobSet without a name is reported by its generateName", () => {
  expect(objectName(request())).toBe("train-*");
  expect(objectName(request({ name: "train-x7" }))).toBe("train-x7");
  expect(objectName(request({ object: { metadata: null } }))).toBe("");
});

test("every finding is in the message and has its own cause", () => {
  const errors = ["a", "b"].map((path) => ({ rule: `rule-${path}`, path, message: "is wrong" }));
  const { status } = refuse(request(), errors, []);
  expect(status?.message).toBe("a: is wrong [rule-a]; b: is wrong [rule-b]");
  expect(status?.details?.causes.map((cause) => cause.field)).toEqual(["a", "b"]);
});

test("the response to ten thousand findings has the first fifty and a count", () => {
  const errors = Array.from({ length: 10_000 }, (_, i) => ({ rule: "r", path: `spec[${i}]`, message: "is wrong" }));
  const { status } = refuse(request(), errors, []);
  expect(status?.details?.causes).toHaveLength(51);
  expect(status?.message).toMatch(/9950 more errors; run "reprise validate" to see all$/);
});
