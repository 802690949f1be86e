// How `inject` and `validate` print findings: one line each that begins with file and line, so that editors can jump
// there. Pure.
import { type Finding, findingText } from "../../api/admission.ts";
import { readIdentity } from "../../api/metadata.ts";
import type { Path } from "../../json/yaml-source.ts";
import type { FoundJobSet, InputDocument } from "../input/documents.ts";
import { parseFieldPath } from "./field-path.ts";

/** A JobSet and the document that contains it. */
export interface Located {
  readonly document: InputDocument;
  readonly jobSet: FoundJobSet;
}

export function locate(documents: readonly InputDocument[]): Located[] {
  return documents.flatMap((document) => document.jobSets.map((jobSet) => ({ document, jobSet })));
}

/** A JobSet without a namespace goes to the one that kubectl would use. */
export function namespaceOf({ object }: FoundJobSet, byDefault: string): string {
  return readIdentity(object).namespace || byDefault;
}

export function jobSetName({ object }: FoundJobSet): string {
  const { name, namespace } = readIdentity(object);
  const shown = name === "" ? "(no name)" : name;
  return namespace === "" ? shown : `${namespace}/${shown}`;
}

export function findingLine(at: Located, severity: "error" | "warning", finding: Finding): string {
  return line(at, parseFieldPath(finding.path), `${severity}: ${findingText(finding)} [${finding.rule}]`);
}

export function noteLine(at: Located, note: string): string {
  return line(at, [], note);
}

function line({ document, jobSet }: Located, path: Path, text: string): string {
  const place = `${document.file}:${document.lineOf([...jobSet.path, ...path])}`;
  return `${place}: document ${document.number}, JobSet ${jobSetName(jobSet)}: ${text}`.replaceAll(/\s*\n\s*/g, " ");
}
