// The text output of `reprise doctor`: one line per finding, with the fix and the page below it. Pure.
import type { Finding, Grade } from "../../doctor/finding.ts";
import { count } from "./count.ts";

const MARKS: Readonly<Record<Grade, string>> = { ok: "ok  ", warn: "warn", fail: "FAIL" };

export function findingsAsText(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, grade, message, fix, docs }) => [
    `${MARKS[grade]}  ${check.padEnd(width)}  ${message}`,
    ...(fix === undefined ? [] : [`      fix: ${fix}`, `      see: ${docs}`]),
  ]);
  return [...lines, "", summary(findings), ""].join("\n");
}

function summary(findings: readonly Finding[]): string {
  const of = (grade: Grade) => findings.filter((finding) => finding.grade === grade).length;
  const [failures, warnings] = [of("fail"), of("warn")];
  if (failures === 0 && warnings === 0) return `all ${findings.length} findings are ok`;
  return [
    ...(failures === 0 ? [] : [count(failures, "failure")]),
    ...(warnings === 0 ? [] : [count(warnings, "warning")]),
  ]
    .join(", ")
    .concat(` among ${findings.length} findings`);
}
