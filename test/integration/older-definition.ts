// CRDs of earlier versions, made from the current ones by leaving a field out.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { assetFolder } from "../cluster/binaries.ts";

export const JOBSET_CRD = join(assetFolder("jobset"), "components/crd/bases/jobset.x-k8s.io_jobsets.yaml");
export const REPRISE_CRD = new URL("../../manifests/crd/reprise.dev_inplacerestarts.yaml", import.meta.url).pathname;

/** JobSet's CRD before 0.10, without the field for in-place restarts. */
export function olderJobSetDefinition(): string {
  return withoutField(JOBSET_CRD, "restartPolicyRules");
}

/** The definition in this file, as YAML, without a field at any depth. */
export function withoutField(file: string, field: string): string {
  const [document] = parseAllDocuments(readFileSync(file, "utf8"));
  const definition: unknown = document?.toJS();
  dropField(definition, field);
  return stringify(definition);
}

function dropField(schema: unknown, field: string): void {
  if (typeof schema !== "object" || schema === null) return;
  const properties = Reflect.get(schema, "properties");
  if (typeof properties === "object" && properties !== null) Reflect.deleteProperty(properties, field);
  for (const value of Object.values(schema)) dropField(value, field);
}
