import { expect, it } from "vitest";
import type { JsonObject } from "../../json/types.ts";
import { readDocuments } from "../input/documents.ts";
import { rewrite } from "./rewrite.ts";

/** The text after its only JobSet was changed. */
function changed(text: string, change: (object: JsonObject) => void): string {
  const [document] = readDocuments(text, "in.yaml");
  const [jobSet] = document?.jobSets ?? [];
  if (document === undefined || jobSet === undefined) throw new Error("no JobSet");
  const after = structuredClone(jobSet.object);
  change(after);
  return rewrite(document, [{ path: jobSet.path, before: jobSet.object, after }]);
}

const HEAD = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n";

it("rewriting changes only what injection changed: comments, order, quotes, octal numbers and long lines stay", () => {
  const long = "x ".repeat(100).trim();
  const text =
    `# top\n${HEAD}metadata: {name: 'train'} # inline\nspec:\n    mode: 0644 # octal\n    note: "${long}"\n` +
    `    script: |\n        a\n          b\n    list: ["a", 'b']\n# end\n`;
  const added = changed(text, (object) => {
    object["added"] = { on: "on", value: "yes" };
  });
  const end = 'added:\n    "on": "on"\n    value: "yes"\n';
  // A blank line separates a comment at the end from the addition before it.
  expect(added.replace(end, "")).toBe(text.replace("\n# end", "\n\n# end"));
  expect(added).toContain(end);
});

it("rewriting keeps a comment after a changed value, and a comment above an item with that item", () => {
  const text = `${HEAD}spec:\n  limit: 0 # none\n  items:\n  # first\n  - a\n  - b\n`;
  const after = changed(text, (object) => {
    object["spec"] = { limit: 7, items: ["new", "a", "b"] };
  });
  expect(after).toBe(`${HEAD}spec:\n  limit: 7 # none\n  items:\n  - new\n  # first\n  - a\n  - b\n`);
});

it("rewriting never changes another place through an anchor", () => {
  const text = `${HEAD}spec:\n  one: &job\n    a: 1\n  two: *job\n  three:\n    <<: *job\n`;
  const after = changed(text, (object) => {
    object["spec"] = { one: { a: 1 }, two: { a: 2 }, three: { a: 1 } };
  });
  expect(readDocuments(after, "out.yaml")[0]?.value).toMatchObject({
    spec: { one: { a: 1 }, two: { a: 2 }, three: { a: 1 } },
  });
});

it("rewriting changes an alias only in its own place", () => {
  const text = `${HEAD}spec:\n  one: &job\n    a: 1\n  two: *job\n`;
  const after = changed(text, (object) => {
    object["spec"] = { one: { a: 2 }, two: { a: 1 } };
  });
  expect(readDocuments(after, "out.yaml")[0]?.value).toMatchObject({ spec: { one: { a: 2 }, two: { a: 1 } } });
});

it("rewriting adds no anchors for values in two places", () => {
  const shared = { a: 1 };
  const after = changed(HEAD, (object) => {
    object["spec"] = { one: shared, two: shared };
  });
  expect(after).toBe(`${HEAD}spec:\n  one:\n    a: 1\n  two:\n    a: 1\n`);
});

it("rewriting keeps JSON and its indentation", () => {
  const text = '{\n    "apiVersion": "jobset.x-k8s.io/v1alpha2",\n    "kind": "JobSet"\n}';
  const after = changed(text, (object) => {
    object["spec"] = {};
  });
  expect(after).toBe('{\n    "apiVersion": "jobset.x-k8s.io/v1alpha2",\n    "kind": "JobSet",\n    "spec": {}\n}\n');
});
