// Writes a changed document back. Lines without a change stay as they are. Pure.
import type { Document } from "yaml";
import { isObject } from "../../json/edit.ts";
import { createPatch } from "../../json/patch.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import type { Path } from "../../json/yaml-source.ts";
import { type InputDocument, parsedValue, type YamlDocument } from "../input/documents.ts";
import { editedText } from "./text-edits.ts";
import { documentOf, jsonLines, styleOf } from "./value-text.ts";

export interface Change {
  readonly path: Path;
  readonly before: JsonObject;
  readonly after: JsonObject;
}

/** The changed text of a document. JSON stays JSON. */
export function rewrite(input: InputDocument, changes: readonly Change[]): string {
  const { source, form, value } = input;
  const after = applied(value, changes);
  const document = input.parse();
  const style = styleOf(source, form);
  for (const expandAliases of [false, true]) {
    const text = editedText(document.contents, value, after, { source, style, expandAliases });
    // An edit next to an anchor or a merge key may change another place too.
    if (text !== undefined && isSame(parsedValue(text), after)) return text;
  }
  if (form === "json") return `${jsonLines(after, style, "")}\n`;
  const written = plainCopy(document, after).toString(style.options);
  return source.includes("\r\n") ? written.replaceAll("\n", "\r\n") : written;
}

/** The value as YAML that the API machinery reads back unchanged. */
export function yamlText(value: Json): string {
  return documentOf(value).toString({ lineWidth: 0 });
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

function isSame(found: Json | undefined, wanted: Json): boolean {
  return isObject(found) && isObject(wanted) && createPatch(found, wanted).length === 0;
}

/** Used if the text cannot be edited: expands anchors, and keeps only the comment at the top. */
function plainCopy(document: YamlDocument, value: Json): Document {
  const copy = documentOf(value);
  copy.commentBefore = document.commentBefore;
  if (document.directives?.docStart === true && copy.directives !== undefined) copy.directives.docStart = true;
  return copy;
}
