// The user's failurePolicy rules decide about restarts in place as they do about failed Jobs. Three things cannot be
// kept, because no Job fails when its Pods restart in place.
import { type FailureRule, readJobSet } from "../../api/jobset.ts";
import { compilePattern } from "../../api/message-pattern.ts";
import { quoted } from "../../json/brief.ts";
import { FAIL_JOB_SET_RULE } from "../../policy/compile.ts";
import { judged, notApplicable, type Problem, type Rule } from "../rule.ts";

export const failureRules: Rule = {
  name: "failure-rules",
  describe:
    "The user's own failurePolicy rules mean the same for a restart in place: their patterns can be evaluated, their " +
    "reasons can occur, and they restart the whole JobSet.",
  severity: "warning",
  scope: "opted-in",
  check({ object, participants, protocol }) {
    if (protocol === "jobset") return notApplicable("JobSet's own controller applies the rules");
    const names = new Set(participants.map(({ template }) => template.name));
    const { failurePolicy, replicatedJobs } = readJobSet(object);
    const jobs = replicatedJobs.filter(({ name }) => names.has(name)).reduce((sum, { replicas }) => sum + replicas, 0);
    const rules = (failurePolicy?.rules ?? []).flatMap((rule, index) => {
      const { name, targetReplicatedJobs: targets } = rule;
      const isOurs = name === FAIL_JOB_SET_RULE || (targets.length > 0 && !targets.some((target) => names.has(target)));
      return isOurs ? [] : [{ rule, path: `spec.failurePolicy.rules[${index}]` }];
    });
    if (rules.length === 0) return notApplicable("no failurePolicy rule of the user concerns the group");
    return judged(
      rules.flatMap(({ rule, path }) => [...problemsOf(rule, path), ...(jobs > 1 ? restartsOthers(rule, path) : [])]),
      "every rule of the user keeps its meaning",
    );
  },
};

/** Reasons of Jobs whose indexes have failed for good. Injection sets no limit for an index. */
const INDEX_REASONS: ReadonlySet<string> = new Set(["FailedIndexes", "MaxFailedIndexesExceeded"]);

function problemsOf(rule: FailureRule, path: string): readonly Problem[] {
  const { onJobFailureReasons: reasons, onJobFailureMessagePatterns: patterns } = rule;
  const problems: Problem[] = [];
  if (reasons.length > 0 && reasons.every((reason) => INDEX_REASONS.has(reason))) {
    const message =
      `${reasons.join(" and ")} never happens in a group: a failed Pod restarts in place, and no index fails for ` +
      "good; to apply the rule to crashes, add BackoffLimitExceeded";
    problems.push({ path: `${path}.onJobFailureReasons`, message });
  }
  for (const [index, pattern] of patterns.entries()) {
    if (compilePattern(pattern) !== undefined) continue;
    const message =
      `${quoted(pattern)} cannot be evaluated for a restart in place, so it matches nothing there; ` +
      "use a simpler regular expression of RE2, without \\p, \\Q and \\C";
    problems.push({ path: `${path}.onJobFailureMessagePatterns[${index}]`, message });
  }
  return problems;
}

/** For a group of several Jobs. A group of one Job is restarted as a whole without reprise too. */
function restartsOthers({ action }: FailureRule, path: string): readonly Problem[] {
  if (action !== "RestartJob" && action !== "RestartJobAndIgnoreMaxRestarts") return [];
  const alternative = action === "RestartJob" ? "RestartJobSet" : "RestartJobSetAndIgnoreMaxRestarts";
  const message =
    `${action} restarts the Pods of all replicatedJobs in place, not only those of the failed Job; ` +
    `use ${alternative}, which says the same, or exclude replicatedJobs with reprise.dev/replicated-jobs`;
  return [{ path: `${path}.action`, message }];
}
