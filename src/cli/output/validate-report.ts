// What `reprise validate` does with the documents, and how it prints the verdicts. Pure.
import type { Finding, RuleResult, Verdict } from "../../api/admission.ts";
import type { Lookups } from "../../inject/inject.ts";
import type { InjectionSettings } from "../../inject/settings.ts";
import { preview } from "../../validate/preview.ts";
import type { InputDocument } from "../input/documents.ts";
import { findingLine, jobSetName, type Located, locate, namespaceOf } from "./finding-line.ts";

interface JobSetValidation {
  readonly at: Located;
  readonly verdict: Verdict;
  /** The warnings of injection itself. */
  readonly warnings: readonly Finding[];
}

export function validateDocuments(
  documents: readonly InputDocument[],
  config: InjectionSettings,
  known: Lookups,
  namespace: string,
): JobSetValidation[] {
  return locate(documents).map((at) => {
    const { object } = at.jobSet;
    return { at, ...preview({ namespace: namespaceOf(at.jobSet, namespace), object, config, ...known }) };
  });
}

/** Errors and warnings, for standard error. */
export function findingLines(validations: readonly JobSetValidation[]): string[] {
  return validations.flatMap(({ at, verdict, warnings }) => [
    ...verdict.errors.map((finding) => findingLine(at, "error", finding)),
    ...[...warnings, ...verdict.warnings].map((finding) => findingLine(at, "warning", finding)),
  ]);
}

export function verdictsAsText(validations: readonly JobSetValidation[], ignored: number, explain: boolean): string {
  const verdicts = validations.flatMap((validation) => [
    headline(validation),
    ...(explain ? validation.verdict.results.flatMap(explanation) : []),
  ]);
  const others = ignored === 0 ? [] : [`${count(ignored, "other document")} ignored`];
  return [...verdicts, ...others].map((line) => `${line}\n`).join("");
}

function headline({ at, verdict, warnings }: JobSetValidation): string {
  const place = `${at.document.file}: document ${at.document.number}, JobSet ${jobSetName(at.jobSet)}`;
  const skipped = skipReason(verdict);
  if (skipped !== undefined && verdict.allowed) return `${place}: would not be injected (${skipped})`;
  const warned = verdict.warnings.length + warnings.length;
  const found = [
    ...(verdict.allowed ? [] : [count(verdict.errors.length, "error")]),
    ...(warned === 0 ? [] : [count(warned, "warning")]),
  ];
  return `${place}: ${verdict.allowed ? "valid" : "invalid"}${found.length === 0 ? "" : ` (${found.join(", ")})`}`;
}

/** Every rule for JobSets that opted in gives the reason for which a JobSet is skipped. */
function skipReason({ results }: Verdict): string | undefined {
  const first = results.find(({ rule }) => rule === "malformed");
  return first?.verdict === "not-applicable" ? first.reason : undefined;
}

const MARK = { pass: "✓", error: "✗", warning: "!", "not-applicable": "-" } as const;

function explanation(result: RuleResult): string[] {
  const begin = `  ${MARK[result.verdict]} ${result.rule}: ${result.verdict}`;
  if (!("findings" in result)) return [`${begin} (${result.reason})`];
  return [begin, ...result.findings.map(({ path, message }) => `      ${path}: ${message}`)];
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

export function verdictsAsJson(validations: readonly JobSetValidation[], ignored: number, explain: boolean): string {
  const verdicts = validations.map(({ at, verdict, warnings }) => ({
    file: at.document.file,
    document: at.document.number,
    jobSet: jobSetName(at.jobSet),
    allowed: verdict.allowed,
    errors: verdict.errors,
    warnings: verdict.warnings,
    injectionWarnings: warnings,
    ...(explain ? { results: verdict.results } : {}),
  }));
  return `${JSON.stringify({ jobSets: verdicts, ignoredDocuments: ignored }, null, 2)}\n`;
}
