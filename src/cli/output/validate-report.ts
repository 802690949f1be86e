// What `reprise validate` does with JobSets, and how it prints the verdicts. Pure.
import type { RuleResult } from "../../api/admission.ts";
import type { Lookups } from "../../inject/inject.ts";
import type { InjectionSettings } from "../../inject/settings.ts";
import { type Preview, preview } from "../../validate/preview.ts";
import { count } from "./count.ts";
import { effectOf } from "./effect.ts";
import { findingLine, jobSetName, type Located, namespaceOf, placeOf } from "./finding-line.ts";

interface JobSetValidation extends Preview {
  readonly at: Located;
}

export interface Validations {
  readonly jobSets: readonly JobSetValidation[];
  /** Documents that are no JobSets. */
  readonly ignored: number;
  /** Files and documents that could not be read, one sentence each. */
  readonly unreadable: readonly string[];
}

export function validateAll(
  located: readonly Located[],
  config: InjectionSettings,
  known: Lookups,
  namespace: string,
): JobSetValidation[] {
  return located.map((at) => {
    const { object } = at.jobSet;
    return { at, ...preview({ namespace: namespaceOf(at.jobSet, namespace), object, config, ...known }) };
  });
}

/** Errors and warnings, for standard error. */
export function findingLines(validations: readonly JobSetValidation[]): string[] {
  return validations.flatMap(({ at, verdict, warnings }) => [
    ...verdict.errors.map((finding) => findingLine(at, "error", finding)),
    ...warnings.map((finding) => findingLine(at, "warning", finding)),
  ]);
}

export function verdictsAsText({ jobSets, ignored }: Validations, explain: boolean): string {
  if (jobSets.length === 0) return "";
  const verdicts = jobSets.flatMap((validation) => [
    headline(validation),
    ...(explain ? validation.verdict.results.flatMap(explanation) : []),
  ]);
  const others = ignored === 0 ? [] : [`${count(ignored, "other document")} ignored`];
  return [...verdicts, ...others].map((line) => `${line}\n`).join("");
}

function headline(validation: JobSetValidation): string {
  const { at, outcome, verdict, warnings } = validation;
  if (outcome.kind === "skipped" && verdict.allowed) return `${placeOf(at)}: would not be injected (${outcome.reason})`;
  const found = [
    ...(verdict.allowed ? [] : [count(verdict.errors.length, "error")]),
    ...(warnings.length === 0 ? [] : [count(warnings.length, "warning")]),
  ];
  const isInjected = outcome.kind === "injected" && outcome.object === at.jobSet.object;
  const judged = `${verdict.allowed ? "valid" : "invalid"}${isInjected ? ", already injected" : ""}`;
  const effect = effectOn(validation);
  return [
    `${placeOf(at)}: ${judged}${found.length === 0 ? "" : ` (${found.join(", ")})`}`,
    ...(effect === undefined ? [] : [effect]),
  ].join(": ");
}

/** A JobSet that would be refused has no effect. */
function effectOn({ outcome, verdict, object, warnings }: JobSetValidation): string | undefined {
  return outcome.kind === "injected" && verdict.allowed ? effectOf(object, warnings) : undefined;
}

const MARK = { pass: "✓", error: "✗", warning: "!", "not-applicable": "-" } as const;

function explanation(result: RuleResult): string[] {
  const begin = `  ${MARK[result.verdict]} ${result.rule}: ${result.verdict}`;
  if (!("findings" in result)) return [`${begin} (${result.reason})`];
  return [begin, ...result.findings.map(({ path, message }) => `      ${path}: ${message}`)];
}

export function verdictsAsJson({ jobSets, ignored, unreadable }: Validations, explain: boolean): string {
  const verdicts = jobSets.map((validation) => {
    const { at, outcome, verdict, warnings } = validation;
    return {
      file: at.document?.file,
      document: at.document?.number,
      jobSet: jobSetName(at.jobSet),
      allowed: verdict.allowed,
      skipReason: outcome.kind === "skipped" ? outcome.reason : undefined,
      effect: effectOn(validation),
      errors: verdict.errors,
      warnings,
      ...(explain ? { results: verdict.results } : {}),
    };
  });
  return `${JSON.stringify({ jobSets: verdicts, ignoredDocuments: ignored, unreadable }, null, 2)}\n`;
}
