// Parses the text of a config file. Pure: config-file.ts reads the file.
// No mistake is ignored: every unknown key and every invalid value is reported, all at once, each with its line.
import { LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import { nearest } from "../api/nearest.ts";
import { ConfigError, RepriseError, reasonOf } from "../errors.ts";
import { firstLine, offsetOf } from "../json/yaml-source.ts";
import { configSchema, type SettingText, settingTexts } from "./config-schema.ts";

export type Config = z.output<typeof configSchema>;

export const defaultConfig: Config = configSchema.parse({});

type Path = readonly PropertyKey[];

/** The code of an issue about keys that are not in the schema. */
const UNKNOWN = "unrecognized_keys";

/** `file` is used in messages only. Throws a ConfigError that lists every problem. */
export function parseConfig(text: string, file: string): Config {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: "error" });
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line);
  const syntax = (line: number, message: string) =>
    new RepriseError("CONFIG_SYNTAX", { file, line, reason: firstLine(message) });

  if (document.errors.length > 0) {
    throw new ConfigError(document.errors.map((error) => syntax(lineAt(error.pos[0]), error.message)));
  }

  let written: unknown;
  try {
    const content: unknown = document.toJS();
    // Unknown aliases, and aliases that contain themselves, fail only here.
    JSON.stringify(content);
    written = withoutNulls(content) ?? {};
  } catch (error) {
    throw new ConfigError([syntax(1, reasonOf(error))]);
  }
  const parsed = configSchema.safeParse(written);
  if (parsed.success) return parsed.data;

  const lineOf = (path: Path) => lineAt(offsetOf(document.contents, path));
  throw new ConfigError(parsed.error.issues.flatMap((issue) => problems(issue, written, file, lineOf)));
}

function problems(
  issue: z.core.$ZodIssue,
  written: unknown,
  file: string,
  lineOf: (path: Path) => number,
): RepriseError[] {
  if (issue.code === UNKNOWN) {
    const known = Object.keys(shapeAt(issue.path));
    return issue.keys.map((key) => {
      const path = [...issue.path, key];
      const meant = nearest(key, known);
      const suggestion = meant === undefined ? {} : { nearest: meant };
      return new RepriseError("CONFIG_UNKNOWN_KEY", {
        file,
        line: lineOf(path),
        path: formatPath(path),
        known,
        ...suggestion,
      });
    });
  }
  if (issue.code === "invalid_union") {
    // The form that the value was meant to have is the one whose problems are inside the value.
    const meant = issue.errors.find((errors) => errors.some(({ code, path }) => code === UNKNOWN || path.length > 0));
    const inside = meant?.map((each) => ({ ...each, path: [...issue.path, ...each.path] })) ?? [];
    if (inside.length > 0) return inside.flatMap((each) => problems(each, written, file, lineOf));
  }
  if (issue.code === "custom" && typeof issue.params?.["problem"] === "string") {
    const { problem, fix } = issue.params;
    const path = formatPath(issue.path);
    const invalid = { file, line: lineOf(issue.path), path, problem: String(problem), fix: String(fix) };
    return [new RepriseError("CONFIG_INVALID_POLICY", invalid)];
  }
  const { setting, texts } = settingAt(issue.path);
  const expected = texts?.expected ?? "a map of settings";
  const fix =
    texts === undefined
      ? "indent its settings on the lines below it"
      : `for example "${String(setting.at(-1))}: ${texts.example}"`;
  const found = describe(valueAt(written, setting));
  const path = setting.length === 0 ? "the file" : formatPath(setting);
  return [new RepriseError("CONFIG_WRONG_VALUE", { file, line: lineOf(setting), path, expected, found, fix })];
}

/** The setting of an issue and its texts. For an issue in a list item this is the list. */
function settingAt(path: Path): { setting: Path; texts: SettingText | undefined } {
  for (let length = path.length; length > 0; length--) {
    const parent = shapeAt(path.slice(0, length - 1));
    const schema = parent[String(path[length - 1])];
    if (schema !== undefined) return { setting: path.slice(0, length), texts: settingTexts.get(schema) };
  }
  return { setting: path, texts: undefined };
}

/** The settings below a path of the schema. Empty if it is not a map. */
export function shapeAt(path: Path): Readonly<Record<string, z.core.$ZodType>> {
  let schema: z.core.$ZodType = configSchema;
  for (const key of path) {
    const next = shapeOf(schema)[String(key)];
    if (next === undefined) return {};
    schema = next;
  }
  return shapeOf(schema);
}

function shapeOf(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault) return shapeOf(schema.unwrap());
  if (schema instanceof z.ZodUnion) return Object.assign({}, ...schema.options.map(shapeOf));
  return schema instanceof z.ZodObject ? schema.shape : {};
}

/** An empty YAML value means "not set", as everywhere in Kubernetes. */
function withoutNulls(value: unknown): unknown {
  if (value === null) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) return value;
  const kept = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutNulls(item)]));
}

function valueAt(value: unknown, path: Path): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

function formatPath(path: Path): string {
  return path.map(String).join(".");
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : `the list ${JSON.stringify(value)}`;
  return typeof value === "object" ? "a map" : String(value);
}
