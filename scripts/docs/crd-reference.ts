// Writes the field references in docs/inplacerestart.md from the CRDs.
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { asList, asMap, asText, type Fields } from "../../src/json/fields.ts";
import { markdownTable, withGenerated } from "./generated-part.ts";

/** The plural of each kind, and what the names of its tables begin with. */
const KINDS = [
  { plural: "inplacerestarts", prefix: "" },
  { plural: "groupepochs", prefix: "GroupEpoch " },
] as const;

/** The page with its tables updated. */
export function withFields(page: string): string {
  return KINDS.reduce((text, { plural, prefix }) => withTables(text, plural, prefix), page);
}

function withTables(page: string, plural: string, prefix: string): string {
  const crd = asMap(parse(readFileSync(`manifests/crd/reprise.dev_${plural}.yaml`, "utf8")));
  const [version] = asList(asMap(crd["spec"])["versions"]).map(asMap);
  const schema = asMap(asMap(version?.["schema"])["openAPIV3Schema"]);
  const columns = asList(version?.["additionalPrinterColumns"]).map(asMap);
  const fields = ["spec", "status"].flatMap((part) => fieldRows(asMap(asMap(schema["properties"])[part]), part));
  const parts = [
    ["columns", markdownTable(["column", "field", "meaning"], columns.map(columnRow))],
    ["fields", markdownTable(["field", "type", "required", "meaning"], fields)],
    ["rules", markdownTable(["on", "rule", "message"], ruleRows(schema, ""))],
  ] as const;
  return parts.reduce((text, [name, part]) => withGenerated(text, `${prefix}${name}`, part), page);
}

function columnRow({ name, jsonPath, description }: Fields): string[] {
  return [`${asText(name)}`, `\`${asText(jsonPath)?.slice(1)}\``, asText(description) ?? ""];
}

/** A row for each field below an object, and below those a row for each of their own. */
function fieldRows(object: Fields, path: string): string[][] {
  const required = asList(object["required"]);
  return Object.entries(asMap(object["properties"])).flatMap(([name, value]) => {
    const field = asMap(value);
    const isList = field["type"] === "array";
    const inner = isList ? asMap(field["items"]) : field;
    const fieldPath = `${path}.${name}${isList ? "[]" : ""}`;
    return [
      [`\`${fieldPath}\``, typeOf(field), required.includes(name) ? "yes" : "", meaningOf(field)],
      ...fieldRows(inner, fieldPath),
    ];
  });
}

function typeOf(field: Fields): string {
  if (field["type"] === "array") return `list of ${typeOf(asMap(field["items"]))}`;
  return asText(field["format"]) === "date-time" ? "time" : (asText(field["type"]) ?? "");
}

function meaningOf(field: Fields): string {
  const values = asList(field["enum"]).map((value) => `\`${String(value)}\``);
  return [asText(field["description"]) ?? "", values.length === 0 ? "" : `One of ${values.join(", ")}.`]
    .filter((part) => part !== "")
    .join(" ");
}

/** What the API server enforces for every client. */
function ruleRows(schema: Fields, path: string): string[][] {
  const rules = asList(schema["x-kubernetes-validations"]).map(asMap);
  const own = rules.map(({ rule, message }) => [
    path === "" ? "the object" : `\`${path}\``,
    `\`${asText(rule)}\``,
    asText(message) ?? "",
  ]);
  const below = Object.entries(asMap(schema["properties"])).flatMap(([name, value]) => {
    const field = asMap(value);
    const fieldPath = path === "" ? name : `${path}.${name}`;
    return field["type"] === "array" ? ruleRows(asMap(field["items"]), `${fieldPath}[]`) : ruleRows(field, fieldPath);
  });
  return [...own, ...below];
}
