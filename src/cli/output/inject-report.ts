// What `reprise inject` does with the documents, and the formats in which it prints the result. Pure.
import jsonPatch from "fast-json-patch";
import type { Lookups } from "../../inject/inject.ts";
import type { InjectionSettings } from "../../inject/settings.ts";
import { createPatch } from "../../json/patch.ts";
import type { Json } from "../../json/types.ts";
import { admit } from "../../validate/preview.ts";
import type { InputDocument } from "../input/documents.ts";
import { unifiedDiff } from "./diff.ts";
import { effectOf } from "./effect.ts";
import { findingLine, jobSetName, type Located, locate, namespaceOf, noteLine } from "./finding-line.ts";
import { applied, type Change, rewrite, yamlText } from "./rewrite.ts";

interface InjectedDocument {
  readonly input: InputDocument;
  /** Empty if nothing in the document changed. */
  readonly changes: readonly Change[];
}

interface InjectionReport {
  readonly injected: readonly InjectedDocument[];
  /** Findings and notes in the order of the documents. */
  readonly lines: readonly string[];
  readonly jobSets: number;
  readonly refused: number;
}

type Result =
  | { readonly kind: "changed"; readonly change: Change; readonly lines: readonly string[] }
  | { readonly kind: "unchanged" | "refused"; readonly lines: readonly string[] };

export function injectDocuments(
  documents: readonly InputDocument[],
  settings: InjectionSettings,
  known: Lookups,
  namespace: string,
): InjectionReport {
  const injected = documents.map((input) => {
    const results = locate([input]).map((at) => injectOne(at, settings, known, namespace));
    const changes = results.flatMap((each) => (each.kind === "changed" ? [each.change] : []));
    const lookalikes = input.lookalikes.map(({ message }) => `${message} (not injected)`);
    return { input, results, changes, lines: [...results.flatMap((each) => each.lines), ...lookalikes] };
  });
  const results = injected.flatMap((each) => each.results);
  return {
    injected,
    lines: injected.flatMap(({ lines }) => lines),
    jobSets: results.length,
    refused: results.filter(({ kind }) => kind === "refused").length,
  };
}

function injectOne(at: Located, config: InjectionSettings, known: Lookups, namespace: string): Result {
  const { object, path } = at.jobSet;
  const request = { namespace: namespaceOf(at.jobSet, namespace), object, config, ...known };
  const { outcome, object: after, verdict, warnings } = admit(request);
  const warningLines = warnings.map((finding) => findingLine(at, "warning", finding));
  if (!verdict.allowed) {
    const errors = verdict.errors.map((finding) => findingLine(at, "error", finding));
    return { kind: "refused", lines: [...errors, ...warningLines] };
  }
  if (outcome.kind === "skipped") {
    return { kind: "unchanged", lines: [noteLine(at, `not injected: ${outcome.reason}`), ...warningLines] };
  }
  const isSame = createPatch(object, after).length === 0;
  const effect = noteLine(at, `${isSame ? "already injected: " : ""}${effectOf(after, warnings)}`);
  const lines = [effect, ...warningLines];
  return isSame ? { kind: "unchanged", lines } : { kind: "changed", change: { path, before: object, after }, lines };
}

type Paint = (color: "red" | "green" | "cyan" | "bold", text: string) => string;

export function print(
  documents: readonly InjectedDocument[],
  format: "yaml" | "json" | "diff" | "patch" | undefined,
  paint: Paint,
): string {
  switch (format) {
    case "json":
      return `${JSON.stringify(asOneObject(documents.map(resultOf)), null, 2)}\n`;
    case "patch":
      return documents.flatMap(patchLines).join("");
    case "diff":
      return diffs(documents, paint);
    case "yaml":
      return joined(documents.map((each) => (each.input.form === "json" ? yamlText(resultOf(each)) : textOf(each))));
    case undefined:
      return joined(documents.map(textOf));
  }
}

function textOf({ input, changes }: InjectedDocument): string {
  return changes.length === 0 ? input.source : rewrite(input, changes);
}

function resultOf({ input, changes }: InjectedDocument): Json {
  return applied(input.value, changes);
}

/** Documents of one file have their separators. Adds one between files, and after a document that lost its own. */
function joined(texts: readonly string[]): string {
  return texts.reduce((all, text) => {
    if (all === "" || text === "") return all + text;
    const ended = all.endsWith("\n") ? all : `${all}\n`;
    const isSeparate = /^(?:\s|#[^\n]*\n|%[^\n]*\n)*---(?:\s|$)/.test(text) || /(?:^|\n)---\s*$/.test(all);
    return isSeparate ? ended + text.replace(/^\r?\n/, "") : `${ended}---\n${text}`;
  }, "");
}

/** Several documents become a List, as in kubectl. */
function asOneObject(values: readonly Json[]): Json {
  const present = values.filter((value) => value !== null);
  const [only] = present;
  return present.length === 1 && only !== undefined ? only : { apiVersion: "v1", kind: "List", items: present };
}

/** One line of JSON per JobSet, including empty patches. */
function patchLines({ input, changes }: InjectedDocument): string[] {
  return input.jobSets.map((jobSet) => {
    const change = changes.find(({ before }) => before === jobSet.object);
    const patch = change === undefined ? [] : jsonPatch.compare(change.before, change.after);
    return `${JSON.stringify({ file: input.file, document: input.number, jobSet: jobSetName(jobSet), patch })}\n`;
  });
}

function diffs(documents: readonly InjectedDocument[], paint: Paint): string {
  const files = Map.groupBy(documents, ({ input }) => input.file);
  const lines = [...files].flatMap(([file, parts]) => {
    const before = parts.map(({ input }) => input.source).join("");
    return unifiedDiff(before, joined(parts.map(textOf)), [file, `${file} (injected)`]);
  });
  return lines.map((line) => `${painted(line, paint)}\n`).join("");
}

function painted(line: string, paint: Paint): string {
  if (line.startsWith("--- ") || line.startsWith("+++ ")) return paint("bold", line);
  if (line.startsWith("@@")) return paint("cyan", line);
  if (line.startsWith("+")) return paint("green", line);
  return line.startsWith("-") ? paint("red", line) : line;
}
