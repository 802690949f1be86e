// Writes a changed document back. Comments, order and quoting of the unchanged parts survive. Pure.
import { Document, isAlias, isMap, isScalar, isSeq, Pair, type ToStringOptions } from "yaml";
import { isObject } from "../../json/edit.ts";
import { createPatch, type PatchOperation } from "../../json/patch.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import type { Path } from "../../json/yaml-source.ts";
import { asJson, type InputDocument, type YamlDocument } from "../input/documents.ts";

export interface Change {
  readonly path: Path;
  readonly before: JsonObject;
  readonly after: JsonObject;
}

/** No anchors and aliases for parts that injection adds in two places: the user did not write them. */
const WRITTEN_OUT = { aliasDuplicateObjects: false } as const;

/** The changed text of a document. JSON stays JSON. */
export function rewrite(input: InputDocument, changes: readonly Change[]): string {
  const after = applied(input.value, changes);
  if (input.form === "json") return `${JSON.stringify(after, null, jsonIndent(input.source))}\n`;
  const document = input.parse();
  const isEdited = changes.every(({ path, before, after }) =>
    createPatch(before, after).every((operation) =>
      edit(document, [...path, ...pointerPath(operation.path)], operation),
    ),
  );
  const text = isEdited && isSame(document, after) ? document : plainCopy(document, after);
  const written = text.toString(layoutOf(input.source));
  return input.source.includes("\r\n") ? written.replaceAll("\n", "\r\n") : written;
}

/** The value as YAML that the API machinery reads back unchanged. */
export function yamlText(value: Json): string {
  return new Document(value, { version: "1.1", ...WRITTEN_OUT }).toString({ lineWidth: 0 });
}

/** Applies the changes to a value. */
export function applied(value: Json, changes: readonly Change[]): Json {
  return changes.reduce((current, { path, after }) => replaced(current, path, after), value);
}

function replaced(value: Json, [key, ...rest]: Path, by: Json): Json {
  if (key === undefined) return by;
  if (Array.isArray(value)) return value.map((item, index) => (index === key ? replaced(item, rest, by) : item));
  if (!isObject(value)) return value;
  return { ...value, [key]: replaced(value[key] ?? null, rest, by) };
}

/** Returns false inside an alias: a change there would change every other place that shares it. */
function edit(document: YamlDocument, path: Path, operation: PatchOperation): boolean {
  let parent: unknown = document.contents;
  for (const key of path.slice(0, -1)) {
    if (isMap(parent)) parent = parent.get(key, true);
    else if (isSeq(parent)) parent = parent.items[Number(key)];
    if (isAlias(parent)) return false;
  }
  const key = path.at(-1);
  const value = operation.op === "remove" ? undefined : document.createNode(operation.value, WRITTEN_OUT);
  if (isMap(parent) && key !== undefined) {
    const present = parent.get(key, true);
    if (operation.op === "remove") return parent.delete(key);
    // A comment after a value stays after the new one.
    if (isScalar(present) && isScalar(value)) value.comment = present.comment ?? null;
    if (present === undefined) parent.add(new Pair(document.createNode(key), value));
    else parent.set(key, value);
    return true;
  }
  if (!isSeq(parent) || typeof key !== "number") return false;
  if (operation.op === "remove") parent.items.splice(key, 1);
  else if (operation.op === "replace") parent.items[key] = value;
  else {
    // The parser attaches a comment above the first item to the list. It belongs to that item, not to the new first
    // one.
    const [first] = parent.items;
    if (key === 0 && parent.commentBefore && (isMap(first) || isSeq(first) || isScalar(first))) {
      first.commentBefore = [parent.commentBefore, first.commentBefore].filter(Boolean).join("\n");
      parent.commentBefore = null;
    }
    parent.items.splice(key, 0, value);
  }
  return true;
}

function isSame(document: YamlDocument, wanted: Json): boolean {
  const found = asJson(document.toJS(), 0);
  return isObject(found) && isObject(wanted) && createPatch(found, wanted).length === 0;
}

/** Used if anchors prevent an edit: expands them, and keeps only the comment at the top. */
function plainCopy(document: YamlDocument, value: Json): Document {
  const copy = new Document(value, { version: "1.1", ...WRITTEN_OUT });
  copy.commentBefore = document.commentBefore;
  if (document.directives?.docStart === true && copy.directives !== undefined) copy.directives.docStart = true;
  return copy;
}

function pointerPath(pointer: string): Path {
  const steps = pointer.split("/").slice(1);
  return steps.map((step) => {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    return /^\d+$/.test(key) ? Number(key) : key;
  });
}

/** The indentation of the document. Lines are never folded: that would change the user's lines. */
function layoutOf(source: string): ToStringOptions {
  const [, outer = "", item] =
    /^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\r?\n(?:[ \t]*#[^\n]*\r?\n)*( *)- /m.exec(source) ?? [];
  const [, parent = "", child] = /^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\r?\n( +)[^\s#-]/m.exec(source) ?? [];
  const indent = child === undefined ? 2 : child.length - parent.length;
  const flowCollectionPadding = /[[{] +[^\s]/.test(source);
  return {
    lineWidth: 0,
    flowCollectionPadding,
    indent: indent > 0 ? indent : 2,
    indentSeq: item === undefined || item.length > outer.length,
  };
}

function jsonIndent(source: string): string {
  return /^\s*\{\r?\n([ \t]+)"/.exec(source)?.[1] ?? (source.trim().includes("\n") ? "  " : "");
}
