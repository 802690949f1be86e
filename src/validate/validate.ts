// The validation core: judges the final state of a JobSet, after all mutating webhooks. Pure; never throws. It rejects
// what a user can fix and what would block or split a group. It never rejects an update for a problem that the stored
// object already has, and never blocks a deletion.
import type { Finding, RuleResult, Verdict } from "../api/admission.ts";
import type { InjectionRequest } from "../inject/inject.ts";
import type { Rule } from "./rule.ts";
import { RULES } from "./rules.ts";
import { readSubject, type Subject } from "./subject.ts";

export function validate(request: InjectionRequest): Verdict {
  const results = judge(readSubject(request));
  const { oldObject } = request;
  // The findings of the stored object on its own.
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

/** An error that the stored object already has becomes a warning, so that it does not block the update. */
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
  // Warnings are given once, at creation: GitOps tools apply the same file every few minutes. Only what would be an
  // error in a new JobSet is repeated.
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

/** The message contains the value, so another invalid value is a new finding. */
function key({ rule, path, message }: Finding): string {
  return JSON.stringify([rule, path, message]);
}
