import { expect, it } from "vitest";
import { findingsAsText } from "./doctor-text.ts";

const docs = "docs/doctor.md#leader";

it("prints one line per finding, the fix and the page of what is not ok, and a summary", () => {
  const text = findingsAsText([
    { check: "crd", grade: "ok", message: "InPlaceRestart has every field", docs: "docs/doctor.md#crd" },
    { check: "leader", grade: "fail", message: "no controller leads", fix: "kubectl logs", docs },
    { check: "groups", grade: "warn", message: "stalled", fix: "reprise status", docs: "docs/doctor.md#groups" },
  ]);
  expect(text.split("\n")).toEqual([
    "ok    crd     InPlaceRestart has every field",
    "FAIL  leader  no controller leads",
    "      fix: kubectl logs",
    "      see: docs/doctor.md#leader",
    "warn  groups  stalled",
    "      fix: reprise status",
    "      see: docs/doctor.md#groups",
    "",
    "1 failure, 1 warning among 3 findings",
    "",
  ]);
});

it("says that all is well", () => {
  expect(findingsAsText([{ check: "crd", grade: "ok", message: "x", docs }])).toContain("all 1 findings are ok");
});
