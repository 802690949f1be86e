// Reads manifests/monitoring/prometheusrule.yaml. Its spec is a file of rules, as Prometheus reads it.
import { readFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { asList, asMap, asText, asTextMap } from "../../src/json/fields.ts";

export interface Alert {
  readonly name: string;
  readonly expr: string;
  readonly severity: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const spec = asMap(asMap(parse(readFileSync("manifests/monitoring/prometheusrule.yaml", "utf8")))["spec"]);

/** With `immediately`, alerts do not wait: for tests against the real clock. */
export function rulesFile({ immediately = false } = {}): string {
  const text = stringify(spec);
  return immediately ? text.replaceAll(/^(\s+for:) .*$/gm, "$1 0s") : text;
}

export function alerts(): readonly Alert[] {
  return asList(spec["groups"])
    .flatMap((group) => asList(asMap(group)["rules"]))
    .map(asMap)
    .map(({ alert, expr, labels, annotations }) => ({
      name: asText(alert) ?? "",
      expr: asText(expr) ?? "",
      severity: asTextMap(labels)["severity"] ?? "",
      annotations: asTextMap(annotations),
    }));
}
