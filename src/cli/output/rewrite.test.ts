import fc from "fast-check";
import { expect, it } from "vitest";
import { Document, type ToStringOptions } from "yaml";
import { isObject, listAt, objectAt } from "../../json/edit.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { readDocuments } from "../input/documents.ts";
import { rewrite } from "./rewrite.ts";

/** The text after its only JobSet was changed. */
function changed(text: string, change: (object: JsonObject) => void): string {
  const [document] = readDocuments(text, "in.yaml").documents;
  const [jobSet] = document?.jobSets ?? [];
  if (document === undefined || jobSet === undefined) throw new Error("no JobSet");
  const after = structuredClone(jobSet.object);
  change(after);
  return rewrite(document, [{ path: jobSet.path, before: jobSet.object, after }]);
}

const SCRIPT = "    script: |\n      # not a comment\n      go\n";
const JSON_HEAD = ['"kind": "JobSet"', '"apiVersion": "jobset.x-k8s.io/v1alpha2"'] as const;
const HEAD = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n";

it("rewriting changes only what injection changed: comments, order, quotes, octal numbers and long lines stay", () => {
  const long = "x ".repeat(100).trim();
  const text =
    `# top\n${HEAD}metadata: {name: 'train'} # inline\nspec:\n    mode: 0644 # octal\n    note: "${long}"\n` +
    `    script: |\n        a\n          b\n    list: ["a", 'b']\n# end\n`;
  const added = changed(text, (object) => {
    object["added"] = { on: "on", value: "yes" };
  });
  expect(added).toBe(text.replace("# end\n", 'added:\n    "on": "on"\n    value: "yes"\n# end\n'));
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
  expect(readDocuments(after, "out.yaml").documents[0]?.value).toMatchObject({
    spec: { one: { a: 1 }, two: { a: 2 }, three: { a: 1 } },
  });
});

it("rewriting changes an alias only in its own place", () => {
  const text = `${HEAD}spec:\n  one: &job\n    a: 1\n  two: *job\n`;
  const after = changed(text, (object) => {
    object["spec"] = { one: { a: 2 }, two: { a: 1 } };
  });
  expect(readDocuments(after, "out.yaml").documents[0]?.value).toMatchObject({
    spec: { one: { a: 2 }, two: { a: 1 } },
  });
});

it("rewriting adds no anchors for values in two places", () => {
  const shared = { a: 1 };
  const after = changed(HEAD, (object) => {
    object["spec"] = { one: shared, two: shared };
  });
  expect(after).toBe(`${HEAD}spec:\n  one:\n    a: 1\n  two:\n    a: 1\n`);
});

it.each([
  [
    "a list that is not indented among lists that are",
    "spec:\n  a:\n    - 1\n  b:\n  - name: x\n    # last\n",
    "spec:\n  a:\n    - 1\n  b:\n  - name: new\n  - name: x\n    added: true\n    # last\n",
  ],
  [
    "maps and lists between brackets",
    "spec: {a: [1],b: [{name: x }]} # end\n",
    "spec: {a: [1],b: [{name: new}, {name: x, added: true }]} # end\n",
  ],
  [
    "brackets on several lines",
    "spec:\n  a: [1]\n  b: [\n    {name: x},\n  ]\n",
    "spec:\n  a: [1]\n  b: [\n    {name: new},\n    {name: x, added: true},\n  ]\n",
  ],
  [
    "a block scalar at the end, and blank lines",
    `spec:\n  a: [1]\n\n  b:\n\n  # the first\n  - name: x\n${SCRIPT}\n\nstatus: {}\n`,
    `spec:\n  a: [1]\n\n  b:\n  - name: new\n\n  # the first\n  - name: x\n${SCRIPT}    added: true\n\n\nstatus: {}\n`,
  ],
  [
    "a text that keeps its blank lines",
    "spec:\n  a: [1]\n  b:\n  - name: x\n    script: |+\n      go\n\nstatus: {}\n",
    "spec:\n  a: [1]\n  b:\n  - name: new\n  - name: x\n    script: |+\n      go\n\n    added: true\nstatus: {}\n",
  ],
  [
    "Windows line ends, without one at the end of the file",
    "spec:\r\n  a: [1]\r\n  b:\r\n  - name: x",
    "spec:\r\n  a: [1]\r\n  b:\r\n  - name: new\r\n  - name: x\r\n    added: true",
  ],
])("rewriting leaves every other line as it is in %s", (_what, before, after) => {
  const rewritten = changed(HEAD + before, (object) => {
    const [item = null] = listAt(objectAt(object, "spec"), "b");
    const extended = isObject(item) ? { ...item, added: true } : item;
    object["spec"] = { ...objectAt(object, "spec"), b: [{ name: "new" }, extended] };
  });
  expect(rewritten).toBe(HEAD + after);
});

it.each([
  ["labels:\n", 'labels:\n    x: "1"\n'],
  ["labels: {} # none\n", 'labels: # none\n    x: "1"\n'],
  ["labels: null\n", 'labels:\n    x: "1"\n'],
])("rewriting fills an empty value in its place: %j", (before, after) => {
  const text = (labels: string) => `${HEAD}metadata:\n  ${labels}  name: train\n`;
  const rewritten = changed(text(before), (object) => {
    object["metadata"] = { labels: { x: "1" }, name: "train" };
  });
  expect(rewritten).toBe(text(after));
});

it("rewriting writes an alias out where its value changes, and leaves the other lines", () => {
  const text = `${HEAD}spec:\n  one:   &job\n    a: 1\n  two: *job # same\n  list: [ 1,2 ]\n`;
  const after = changed(text, (object) => {
    object["spec"] = { one: { a: 1 }, two: { a: 1, b: 2 }, list: [1, 2] };
  });
  expect(after).toBe(text.replace("two: *job # same\n", "two: # same\n    a: 1\n    b: 2\n"));
});

it("rewriting removes the lines of an item and of a key", () => {
  const text = `${HEAD}spec:\n  a: 1\n  b: # gone\n    c: 2\n  list:\n  - x\n  - y # gone\n  - z\n`;
  const after = changed(text, (object) => {
    object["spec"] = { a: 1, list: ["x", "z"] };
  });
  expect(after).toBe(`${HEAD}spec:\n  a: 1\n  list:\n  - x\n  - z\n`);
});

it.each([
  [
    "on several lines",
    `{\n    ${JSON_HEAD[0]},\n    ${JSON_HEAD[1]},\n    "metadata": {"name": "x"},\n    "list": []\n}`,
    `{\n    ${JSON_HEAD[0]},\n    ${JSON_HEAD[1]},\n    "metadata": {"name": "x", "labels": {"a": "1"}},\n` +
      '    "list": [\n        1\n    ],\n    "spec": {\n        "b": 2\n    }\n}',
  ],
  [
    "on one line",
    `{${JSON_HEAD[0]},${JSON_HEAD[1]},"metadata":{"name":"x"},"list":[]}\n`,
    `{${JSON_HEAD[0]},${JSON_HEAD[1]},"metadata":{"name":"x", "labels": {"a": "1"}},"list":[1], "spec": {"b": 2}}\n`,
  ],
])("rewriting keeps JSON %s, and its indentation", (_what, before, after) => {
  const rewritten = changed(before, (object) => {
    object["metadata"] = { name: "x", labels: { a: "1" } };
    object["list"] = [1];
    object["spec"] = { b: 2 };
  });
  expect(rewritten).toBe(after);
});

it("rewriting gives the wanted value for any two objects and any style", () => {
  const key = fc.constantFrom("a", "b", "name", "on", "x y", "#");
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom<Json[]>(null, true, 0, "", "text", "- a", "a: b", "two\nlines\n", "{"),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(key, tie("tree"), { maxKeys: 3 }),
    ),
  }));
  const style = fc.constantFrom<ToStringOptions>(
    { collectionStyle: "block" },
    { collectionStyle: "block", indentSeq: false, indent: 4 },
    { collectionStyle: "flow", lineWidth: 20 },
    { collectionStyle: "flow", defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "QUOTE_DOUBLE", lineWidth: 0 },
  );
  fc.assert(
    fc.property(tree, tree, style, (before, after, options) => {
      const jobSet = { apiVersion: "jobset.x-k8s.io/v1alpha2", kind: "JobSet", spec: before };
      const text = new Document(jobSet, { version: "1.1", aliasDuplicateObjects: false }).toString(options);
      const rewritten = changed(text, (object) => {
        object["spec"] = after;
      });
      expect(readDocuments(rewritten, "out.yaml").documents[0]?.value).toEqual({ ...jobSet, spec: after });
    }),
  );
});
