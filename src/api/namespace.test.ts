import { expect, it } from "vitest";
import { ANNOTATION } from "./names.ts";
import { isNamespace, readNamespaceLimit } from "./namespace.ts";

it.each([
  [{ apiVersion: "v1", kind: "Namespace" }, true],
  [{ apiVersion: "v1", kind: "ConfigMap" }, false],
  [{ apiVersion: "example.com/v1", kind: "Namespace" }, false],
  [null, false],
])("tells a Namespace from other objects: %j", (raw, is) => {
  expect(isNamespace(raw)).toBe(is);
});

it("keeps one annotation of a Namespace, as it is written but never long", () => {
  const limitOf = (annotations: Record<string, string>) => readNamespaceLimit({ metadata: { annotations } });
  expect(limitOf({ team: "a" })).toEqual({ kind: "known", text: undefined });
  expect(limitOf({ team: "a", [ANNOTATION.maxRestarts]: "ten" })).toEqual({ kind: "known", text: "ten" });
  expect(limitOf({ [ANNOTATION.maxRestarts]: "1".repeat(100_000) })).toEqual({ kind: "known", text: "1".repeat(40) });
});
