// Splits YAML or JSON into documents and finds the JobSets in them. Pure. Every document keeps its exact text, so that
// unchanged parts can be written back byte for byte.
import { type Document, LineCounter, type ParsedNode, parseAllDocuments, type Tags } from "yaml";
import { isJobSet } from "../../api/jobset.ts";
import { RepriseError, reasonOf } from "../../errors.ts";
import { isObject, listAt, textAt } from "../../json/edit.ts";
import { type Json, type JsonObject, MAX_DEPTH } from "../../json/types.ts";
import { firstLine, offsetOf, type Path } from "../../json/yaml-source.ts";

export type YamlDocument = Document.Parsed<ParsedNode>;

/** A JobSet in a document: the whole document, or an item of a List. */
export interface FoundJobSet {
  readonly path: Path;
  readonly object: JsonObject;
}

export interface InputDocument {
  /** The file name for messages. */
  readonly file: string;
  /** Position in the file, from 1. */
  readonly number: number;
  /** The exact text. Joined, the texts of all documents are the file. */
  readonly source: string;
  readonly form: "yaml" | "json";
  readonly value: Json;
  readonly jobSets: readonly FoundJobSet[];
  /** The line of the deepest part of a path that exists in the file. */
  lineOf(path: Path): number;
  /** Parses the text again, because the caller may change the result. */
  parse(): YamlDocument;
}

/**
 * YAML as the API machinery reads it: version 1.1 (`0644` is octal, `yes` is true), but dates and base-60 numbers are
 * text, because JSON cannot express them. Output follows the same rules, so that a string "on" keeps its quotes.
 */
const AS_KUBERNETES = {
  version: "1.1",
  merge: true,
  customTags: (tags: Tags): Tags =>
    tags.filter(
      (tag) =>
        typeof tag === "string" || !(/:(timestamp|binary|omap|pairs|set)$/.test(tag.tag) || tag.format === "TIME"),
    ),
  prettyErrors: false,
  logLevel: "error",
} as const;

/** Throws a RepriseError with file, document and line. */
export function readDocuments(text: string, file: string): InputDocument[] {
  const lines = new LineCounter();
  const parsed = parseAllDocuments<ParsedNode>(text, { ...AS_KUBERNETES, lineCounter: lines });
  const documents = Array.isArray(parsed) ? parsed : [];
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line);
  let from = 0;
  return documents.map((document, index) => {
    const number = index + 1;
    const invalid = (offset: number, reason: string) =>
      new RepriseError("INPUT_SYNTAX", { file, document: number, line: lineAt(offset), reason });
    const [error] = document.errors;
    if (error !== undefined) throw invalid(error.pos[0], firstLine(error.message));
    const start = document.contents?.range[0] ?? document.range[0];
    const to = index === documents.length - 1 ? text.length : document.range[2];
    const source = text.slice(from, to);
    from = to;
    let value: Json;
    try {
      value = asJson(document.toJS(), 0);
    } catch (problem) {
      throw invalid(start, firstLine(reasonOf(problem)));
    }
    return {
      file,
      number,
      source,
      form: source.trimStart().startsWith("{") ? "json" : "yaml",
      value,
      jobSets: findJobSets(value),
      lineOf: (path) => lineAt(document.contents === null ? document.range[0] : offsetOf(document.contents, path)),
      parse: () => parseOne(source),
    };
  });
}

function parseOne(source: string): YamlDocument {
  const parsed = parseAllDocuments<ParsedNode>(source, AS_KUBERNETES);
  const [document] = Array.isArray(parsed) ? parsed : [];
  if (document === undefined) throw new Error("a parsed document cannot be parsed again");
  return document;
}

/** The value of a document as JSON. Throws if JSON cannot express it. */
export function asJson(value: unknown, depth: number): Json {
  if (depth > MAX_DEPTH) throw new Error("nested too deeply; an alias may contain itself");
  if (value === null || value === undefined) return null;
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((item) => asJson(item, depth + 1));
  if (typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asJson(item, depth + 1)]));
  }
  throw new Error(`${String(value)} is not a value that Kubernetes accepts`);
}

function findJobSets(value: Json): FoundJobSet[] {
  return objectsIn(value).filter(({ object }) => isJobSet(object));
}

/** The object in a document, or the items of a List. */
export function objectsIn(value: Json): { readonly path: Path; readonly object: JsonObject }[] {
  if (!isObject(value)) return [];
  if (!/^[A-Za-z]*List$/.test(textAt(value, "kind") ?? "")) return [{ path: [], object: value }];
  return listAt(value, "items").flatMap((item, index) =>
    isObject(item) ? [{ path: ["items", index], object: item }] : [],
  );
}
