// New values as text, in the style of the document they are added to. Pure.
import { Document, type ToStringOptions } from "yaml";
import type { Json, JsonObject } from "../../json/types.ts";

export interface Style {
  readonly form: "yaml" | "json";
  readonly options: ToStringOptions;
  /** The indentation of JSON on several lines. Empty if it is on one line. */
  readonly jsonIndent: string;
}

/** The style of a document's text. */
export function styleOf(source: string, form: Style["form"]): Style {
  return { form, options: layoutOf(source), jsonIndent: form === "json" ? jsonIndentOf(source) : "" };
}

/** The value as a document that the API machinery reads back unchanged. */
export function documentOf(value: Json): Document {
  // No anchors and aliases for parts that injection adds in two places: the user did not write them.
  return new Document(value, { version: "1.1", aliasDuplicateObjects: false });
}

/** Lines of a block collection, each with a newline at its end. */
export function blockLines(value: JsonObject | Json[], { options }: Style, indent: number): string {
  return indented(documentOf(value).toString(options), " ".repeat(indent));
}

/** A scalar, or a collection between brackets, for one line. */
export function inlineText(value: Json, style: Style): string {
  return withoutBrackets([value], style);
}

/** `key: value` as between the braces of a map. */
export function inlinePair(key: string, value: Json, style: Style): string {
  return withoutBrackets({ [key]: value }, style);
}

/** JSON on several lines. All but the first are indented by `leading`. */
export function jsonLines(value: Json, { jsonIndent }: Style, leading: string): string {
  return JSON.stringify(value, null, jsonIndent).replaceAll("\n", `\n${leading}`);
}

/** Text in brackets is quoted where a comma or a bracket would end it, so the brackets are taken off afterwards. */
function withoutBrackets(value: JsonObject | Json[], { form, options }: Style): string {
  const quotes =
    form === "json" ? ({ defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "QUOTE_DOUBLE" } as const) : {};
  const text = documentOf(value).toString({ ...options, ...quotes, collectionStyle: "flow" });
  return text.trim().slice(1, -1).trim();
}

function indented(text: string, by: string): string {
  return text.replaceAll(/^(?=[^\n])/gm, by);
}

/** The indentation of the document. Lines are never folded: that would change the user's lines. */
function layoutOf(source: string): ToStringOptions {
  const [, outer = "", item] =
    /^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\r?\n(?:[ \t]*#[^\n]*\r?\n)*( *)- /m.exec(source) ?? [];
  const [, parent = "", child] = /^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\r?\n( +)[^\s#-]/m.exec(source) ?? [];
  const indent = child === undefined ? 2 : child.length - parent.length;
  return {
    lineWidth: 0,
    flowCollectionPadding: /[[{] +[^\s]/.test(source),
    indent: indent > 0 ? indent : 2,
    indentSeq: item === undefined || item.length > outer.length,
  };
}

function jsonIndentOf(source: string): string {
  return /^\s*\{\r?\n([ \t]+)"/.exec(source)?.[1] ?? (source.trim().includes("\n") ? "  " : "");
}
