import { describe, expect, it } from "vitest";
import { type InputDocument, readDocuments } from "./documents.ts";

function read(text: string): readonly InputDocument[] {
  const { documents, problems } = readDocuments(text, "in.yaml");
  expect(problems).toEqual([]);
  return documents;
}

function problemsOf(text: string): string[] {
  return readDocuments(text, "in.yaml").problems.map(({ message }) => message);
}

const JOBSET = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n";

describe("readDocuments", () => {
  it.each([
    ["one document", "a: 1\n"],
    ["no newline at the end", "a: 1"],
    ["several, with comments between", "# top\na: 1\n---\n# two\nb: 2 # end\n# after\n--- # three\nc: 3\n"],
    ["empty ones and end marks", "---\n---\na: 1\n...\n%YAML 1.1\n---\nb: 2\n"],
    ["Windows line ends", "a: 1\r\n---\r\nb: 2\r\n"],
    ["a byte order mark", "\uFEFFa: 1\n---\nb: 2\n"],
    ["JSON", '{"a": 1,\n\t"b": [1, 2]}\n'],
    ["comments without a document", "# nothing\n"],
    ["nothing", ""],
  ])("keeps every byte of %s", (_what, text) => {
    expect(
      read(text)
        .map(({ source }) => source)
        .join(""),
    ).toBe(text);
  });

  it("reads values as Kubernetes does, which is YAML 1.1 without dates", () => {
    const [document] = read("mode: 0644\nflag: yes\nday: 2001-01-01\ntime: 12:30\nport: '80'\n");
    expect(document?.value).toEqual({ mode: 420, flag: true, day: "2001-01-01", time: "12:30", port: "80" });
  });

  it("finds JobSets, including items of a List, and nothing else", () => {
    const found = (text: string) => read(text).map(({ jobSets }) => jobSets.map(({ path }) => path));
    expect(found(`${JOBSET}---\nkind: JobSet\napiVersion: other/v1\n---\n- 1\n`)).toEqual([[[]], [], []]);
    const item = '{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}';
    expect(found(`{"kind": "List", "items": [{"kind": "Pod"}, ${item}]}`)).toEqual([[["items", 1]]]);
  });

  it("finds the line of the deepest part of a path that exists", () => {
    const [, document] = read(`a: 1\n---\n${JOBSET}spec:\n  replicatedJobs:\n  - name: a\n  - name: b\n`);
    expect(document?.lineOf([])).toBe(3);
    expect(document?.lineOf(["spec", "replicatedJobs", 1, "name"])).toBe(8);
    expect(document?.lineOf(["spec", "suspend"])).toBe(5);
  });

  it.each([
    ["a: [1\n", /^in\.yaml:\d: document 1 is not valid YAML: .+; correct this line$/],
    ["a: 1\n---\nb: *unknown\n", /^in\.yaml:3: document 2 is not valid YAML: .*unknown/],
    ["a: &a [*a]\n", /nested too deeply/],
    ["a: .nan\n", /NaN is not a value that Kubernetes accepts/],
    ["a\0b", /^in\.yaml is not a text file; pass YAML or JSON in UTF-8$/],
  ])("reports file, line and document of invalid YAML: %j", (text, message) => {
    expect(problemsOf(text)).toEqual([expect.stringMatching(message)]);
  });

  it("reads the documents around broken ones, with their numbers and lines", () => {
    const { documents, problems } = readDocuments(`a: [1\n---\n${JOBSET}---\nb: {\n---\n${JOBSET}`, "in.yaml");
    expect(problems).toHaveLength(2);
    expect(documents.map(({ number, lineOf, jobSets }) => [number, lineOf([]), jobSets.length])).toEqual([
      [2, 3, 1],
      [4, 8, 1],
    ]);
  });

  it("names a key that a JobSet sets twice, and both of its lines", () => {
    expect(problemsOf(`a: 1\n---\n${JOBSET}spec:\n  suspend: true\n  suspend: false\n`)).toEqual([
      'in.yaml:7: document 2 sets "suspend" twice, first in line 6; remove one of the two',
    ]);
  });

  it("passes on another document in which a key is set twice", () => {
    expect(read("kind: ConfigMap\nkind: ConfigMap\n")).toMatchObject([{ jobSets: [] }]);
  });

  it.each([
    ["apiVersion: jobset.x-k8s.io/v1alpha1\nkind: JobSet\n", 'apiVersion is "jobset.x-k8s.io/v1alpha1"'],
    ["apiVersion: batch/v1\nkind: JobSet\n", 'apiVersion is "batch/v1"'],
    ["kind: JobSet\n", "apiVersion is not set"],
  ])("names the API that a JobSet should have: %j", (text, found) => {
    const [document] = read(`# one\n${text}`);
    expect(document?.jobSets).toEqual([]);
    expect(document?.lookalikes.map(({ message }) => message)).toEqual([
      `in.yaml:2: document 1 is not a JobSet: ${found}; use jobset.x-k8s.io/v1alpha2`,
    ]);
  });

  it("names the kind of a JobSet that is spelled differently", () => {
    const [document] = read(JOBSET.replace("kind: JobSet", "kind: Jobset"));
    expect(document?.lookalikes.map(({ message }) => message)).toEqual([
      'in.yaml:2: document 1 is not a JobSet: kind is "Jobset"; use JobSet',
    ]);
  });
});
