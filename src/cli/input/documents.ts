// Splits YAML or JSON into documents and finds the JobSets in them. Pure. Every document keeps its exact text, so that
// unchanged parts can be written back byte for byte. A broken document does not hide the others.
import { type Document, LineCounter, type ParsedNode, parseAllDocuments, type Tags, type YAMLError } from "yaml";
import { JOBSET } from "../../api/names.ts";
import { RepriseError, reasonOf } from "../../errors.ts";
import { isObject, listAt, textAt } from "../../json/edit.ts";
import { type Json, type JsonObject, MAX_DEPTH } from "../../json/types.ts";
import { findTwice, firstLine, offsetOf, type Path } from "../../json/yaml-source.ts";

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
  /** Objects that are meant to be JobSets, but have another API group, version or spelling of the kind. */
  readonly lookalikes: readonly RepriseError[];
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

interface ReadDocuments {
  readonly documents: readonly InputDocument[];
  /** One for each document that cannot be read, with file, document and line. */
  readonly problems: readonly RepriseError[];
}

export function readDocuments(text: string, file: string): ReadDocuments {
  if (text.includes("\0")) return { documents: [], problems: [new RepriseError("INPUT_BINARY", { file })] };
  const lines = new LineCounter();
  const parsed = parseAll(text, lines);
  const documents: InputDocument[] = [];
  const problems: RepriseError[] = [];
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line);
  let from = 0;
  for (const [index, document] of parsed.entries()) {
    const to = index === parsed.length - 1 ? text.length : document.range[2];
    const place = { file, document: index + 1, lineAt };
    const read = readDocument(document, text.slice(from, to), place);
    if (read instanceof RepriseError) problems.push(read);
    else documents.push(read);
    from = to;
  }
  // Text without a document, such as comments, is kept as well.
  if (parsed.length === 0) documents.push({ ...EMPTY, file, source: text, parse: () => parseOne(text) });
  return { documents, problems };
}

const EMPTY = { number: 1, form: "yaml", value: null, jobSets: [], lookalikes: [], lineOf: () => 1 } as const;

interface DocumentPlace {
  readonly file: string;
  readonly document: number;
  readonly lineAt: (offset: number) => number;
}

function readDocument(document: YamlDocument, source: string, place: DocumentPlace): InputDocument | RepriseError {
  const { file, lineAt } = place;
  const isFatal = ({ code }: YAMLError) => code !== "DUPLICATE_KEY";
  const error = document.errors.find(isFatal);
  if (error !== undefined) return problem(error.pos[0], firstLine(error.message));
  let value: Json;
  try {
    value = asJson(document.toJS(), 0);
  } catch (reason) {
    return problem(document.contents?.range[0] ?? document.range[0], firstLine(reasonOf(reason)));
  }
  const lineOf = (path: Path) =>
    lineAt(document.contents === null ? document.range[0] : offsetOf(document.contents, path));
  const jobSets = findJobSets(value);
  const lookalikes = findLookalikes(value).map(
    ({ path, ...lookalike }) =>
      new RepriseError("INPUT_OTHER_API", {
        ...{ file, document: place.document, line: lineOf([...path, lookalike.field]) },
        ...lookalike,
      }),
  );
  const [repeated] = document.errors;
  // Other tools take a repeated key. In a document that is only passed on it is none of our business.
  if (repeated !== undefined && jobSets.length + lookalikes.length > 0) {
    const [offset] = repeated.pos;
    const twice = findTwice(document, offset);
    if (twice === undefined) return problem(offset, firstLine(repeated.message));
    const { key, first } = twice;
    const where = { file, document: place.document, line: lineAt(offset), first: lineAt(first), key };
    return new RepriseError("INPUT_DUPLICATE_KEY", where);
  }
  return {
    file,
    number: place.document,
    source,
    form: source.trimStart().startsWith("{") ? "json" : "yaml",
    value,
    jobSets,
    lookalikes,
    lineOf,
    parse: () => parseOne(source),
  };

  function problem(offset: number, reason: string): RepriseError {
    return new RepriseError("INPUT_SYNTAX", { file, document: place.document, line: lineAt(offset), reason });
  }
}

/** The value of the only document in a text. Undefined if it cannot be read. */
export function parsedValue(text: string): Json | undefined {
  const [document, ...others] = parseAll(text);
  if (document === undefined || others.length > 0 || document.errors.length > 0) return undefined;
  try {
    return asJson(document.toJS(), 0);
  } catch {
    return undefined;
  }
}

function parseAll(text: string, lineCounter?: LineCounter): readonly YamlDocument[] {
  const counting = lineCounter === undefined ? {} : { lineCounter };
  const parsed = parseAllDocuments<ParsedNode>(text, { ...AS_KUBERNETES, ...counting });
  return Array.isArray(parsed) ? parsed : [];
}

function parseOne(source: string): YamlDocument {
  const [document] = parseAll(source);
  if (document === undefined) throw new Error("a parsed document cannot be parsed again");
  return document;
}

/** The value of a document as JSON. Throws if JSON cannot express it. */
function asJson(value: unknown, depth: number): Json {
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

const API_VERSION = `${JOBSET.group}/${JOBSET.version}`;

function findJobSets(value: Json): FoundJobSet[] {
  return objectsIn(value).filter(
    ({ object: { kind, apiVersion } }) => kind === JOBSET.kind && apiVersion === API_VERSION,
  );
}

interface Lookalike {
  readonly path: Path;
  readonly field: "apiVersion" | "kind";
  readonly found: string | undefined;
  readonly expected: string;
}

function findLookalikes(value: Json): Lookalike[] {
  return objectsIn(value).flatMap(({ path, object }): Lookalike[] => {
    const [kind, apiVersion] = [textAt(object, "kind"), textAt(object, "apiVersion")];
    if (kind?.toLowerCase() !== JOBSET.kind.toLowerCase()) return [];
    if (apiVersion !== API_VERSION) return [{ path, field: "apiVersion", found: apiVersion, expected: API_VERSION }];
    return kind === JOBSET.kind ? [] : [{ path, field: "kind", found: kind, expected: JOBSET.kind }];
  });
}

/** The object in a document, or the items of a List. */
export function objectsIn(value: Json): { readonly path: Path; readonly object: JsonObject }[] {
  if (!isObject(value)) return [];
  if (!/^[A-Za-z]*List$/.test(textAt(value, "kind") ?? "")) return [{ path: [], object: value }];
  return listAt(value, "items").flatMap((item, index) =>
    isObject(item) ? [{ path: ["items", index], object: item }] : [],
  );
}
