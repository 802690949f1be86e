// How `inject` and `validate` print findings: one line each that begins with file and line, so that editors can jump
// there. Pure.
import { type Finding, findingText } from "../../api/admission.ts";
import { readIdentity } from "../../api/metadata.ts";
import type { Path } from "../../json/yaml-source.ts";
import type { FoundJobSet, InputDocument } from "../input/documents.ts";
import { parseFieldPath } from "./field-path.ts";

/** A JobSet and the document that contains it. One that was read from a cluster has none. */
export interface Located {
  readonly document?: InputDocument;
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

/** For example "train.yaml: document 1, JobSet train". */
export function placeOf({ document, jobSet }: Located): string {
  const name = `JobSet ${jobSetName(jobSet)}`;
  return document === undefined ? name : `${document.file}: document ${document.number}, ${name}`;
}

function line(at: Located, path: Path, text: string): string {
  const { document, jobSet } = at;
  const place = placeOf(at);
  const found = document === undefined ? "" : `${document.file}:${document.lineOf([...jobSet.path, ...path])}`;
  return `${found}${place.slice(document?.file.length ?? 0)}: ${text}`.replaceAll(/\s*\n\s*/g, " ");
}
