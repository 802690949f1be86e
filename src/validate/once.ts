// One problem for many equal places: a JobSet may have ten thousand replicatedJobs, and one warning is enough. Pure.
import type { Problem } from "./rule.ts";

export function once(problems: readonly Problem[]): readonly Problem[] {
  const [first] = problems;
  if (first === undefined || problems.length === 1) return problems;
  return [{ path: first.path, message: `${first.message} (and ${problems.length - 1} more like it)` }];
}
