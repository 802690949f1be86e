// The validation core: the final state of a JobSet, after every mutating webhook → a verdict. Pure; never throws.
// It refuses what a user can mend and what would hang or split a group. It never refuses an update for something that the
// stored object already had, and never stands in the way of a deletion.
import type { Finding, RuleResult, Verdict } from "../api/admission.ts";
import type { InjectionRequest } from "../inject/inject.ts";
import type { Rule } from "./rule.ts";
import { RULES } from "./rules.ts";
import { readSubject, type Subject } from "./subject.ts";

export function validate(request: InjectionRequest): Verdict {
  const results = judge(readSubject(request));
  const { oldObject } = request;
  // The stored object, judged by itself as it was when it was stored.
  const before =
    request.operation === "UPDATE" && oldObject !== undefined && results.some((result) => "findings" in result)
      ? judge(readSubject({ ...request, object: oldObject }))
      : [];
  return summary(ratcheted(results, known(before)), known(before));
}

function judge(subject: Subject): RuleResult[] {
  return RULES.map((rule) => judgeBy(rule, subject));
}

function judgeBy(rule: Rule, subject: Subject): RuleResult {
  const { skipped } = subject;
  const isOurs = skipped !== "not-a-jobset" && skipped !== "being-deleted";
  if (skipped !== undefined && !(isOurs && rule.scope === "every-jobset")) {
    return { rule: rule.name, verdict: "not-applicable", reason: skipped };
  }
  const check = rule.check(subject);
  if (check.verdict !== "found") return { rule: rule.name, ...check };
  const findings = check.problems.map((problem) => ({ rule: rule.name, ...problem }));
  return { rule: rule.name, verdict: rule.severity, findings };
}

/** An error that the stored object already has does not get in the way of an update: it becomes a warning. */
function ratcheted(results: readonly RuleResult[], stored: ReadonlySet<string>): RuleResult[] {
  if (stored.size === 0) return [...results];
  return results.flatMap((result): RuleResult[] => {
    if (result.verdict !== "error") return [result];
    const [old, fresh] = [true, false].map((isOld) =>
      result.findings.filter((each) => stored.has(key(each)) === isOld),
    );
    const { rule } = result;
    return [
      ...(fresh === undefined || fresh.length === 0 ? [] : [{ rule, verdict: "error", findings: fresh } as const]),
      ...(old === undefined || old.length === 0 ? [] : [{ rule, verdict: "warning", findings: old } as const]),
    ];
  });
}

function summary(results: readonly RuleResult[], stored: ReadonlySet<string>): Verdict {
  const of = (verdict: "error" | "warning") =>
    results.flatMap((result) => (result.verdict === verdict ? result.findings : []));
  const errors = of("error");
  // A warning was said when the JobSet was created, and GitOps applies the same file every few minutes. What would be an
  // error in a new JobSet is worth repeating.
  const warnings = of("warning").filter((each) => !stored.has(key(each)) || isErrorRule(each.rule));
  return { allowed: errors.length === 0, errors, warnings, results };
}

const ERROR_RULES: ReadonlySet<string> = new Set(
  RULES.filter(({ severity }) => severity === "error").map(({ name }) => name),
);

function isErrorRule(name: string): boolean {
  return ERROR_RULES.has(name);
}

function known(results: readonly RuleResult[]): ReadonlySet<string> {
  return new Set(results.flatMap((result) => ("findings" in result ? result.findings.map(key) : [])));
}

/** The message holds the value: a wrong value that was changed into another wrong one is a new finding. */
function key({ rule, path, message }: Finding): string {
  return JSON.stringify([rule, path, message]);
}
