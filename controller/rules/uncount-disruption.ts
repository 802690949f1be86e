// A restart that turns out to be caused by a disruption, or by JobSet recreating a Job. Pure.
import { uncountRuleFailures } from "../escalation/rule-failures.ts";
import { openRecord } from "../status/history.ts";
import type { Context, Step } from "./rule.ts";

/**
 * Such a restart does not count towards the budget, even if another Pod failed first. It does not lengthen the streak
 * either, and there is no back-off for it.
 */
export function uncountDisruption({ group, status }: Context): Step | undefined {
  const record = openRecord(status);
  if (record?.counted !== true) return undefined;
  const isDisrupted = [...group.losses.values()].some(({ epoch, counted }) => epoch === record.fromEpoch && !counted);
  if (!isDisrupted) return undefined;
  const { streak: _, backoffUntil: __, ...rest } = record;
  const before = status.history.at(-2)?.streak;
  const uncounted = { ...rest, counted: false, ...(before === undefined ? {} : { streak: before }) };
  const { history } = status;
  const recounted = uncountRuleFailures(status, record.fromEpoch);
  return { status: { ...recounted, history: [...history.slice(0, -1), uncounted] }, notices: [] };
}
