// The rules of the controller in the order in which they are asked. The first one that applies decides; the rest wait
// for the next look at the group. Order matters, so every rule says why it stands where it stands. Pure.
import { adoptPodEpochs } from "./adopt-pod-epochs.ts";
import { closeWhenSuspended } from "./close-when-suspended.ts";
import { endEpoch } from "./end-epoch.ts";
import { enforceBudget } from "./enforce-budget.ts";
import { failOnExitCode } from "./fail-on-exit-code.ts";
import { failOnFailureRule } from "./fail-on-failure-rule.ts";
import { failOnSpentBudget } from "./fail-on-spent-budget.ts";
import { finishRestart } from "./finish-restart.ts";
import { holdBarrier } from "./hold-barrier.ts";
import { holdForFinalFailure } from "./hold-for-final-failure.ts";
import { holdForSuccess } from "./hold-for-success.ts";
import { initialize } from "./initialize.ts";
import { judgeHang } from "./judge-hang.ts";
import { liftBarrier } from "./lift-barrier.ts";
import { recreateAfterPartialSuccess } from "./recreate-after-partial-success.ts";
import { recreateJobSet } from "./recreate-jobset.ts";
import { recreateOnExitCode } from "./recreate-on-exit-code.ts";
import { releaseStages } from "./release-stages.ts";
import { replacePod } from "./replace-pod.ts";
import { reportStall } from "./report-stall.ts";
import { restOnSuccess } from "./rest-on-success.ts";
import { restartOnRequest } from "./restart-on-request.ts";
import type { Rule } from "./rule.ts";
import { settleBlame } from "./settle-blame.ts";
import { stopWhenFinished } from "./stop-when-finished.ts";
import { uncountDisruption } from "./uncount-disruption.ts";

export const RULES: readonly Rule[] = [
  {
    name: "initialize",
    why: "No other rule can act without epochs, so an object without a status gets them first.",
    apply: initialize,
  },
  {
    name: "stop-when-finished",
    why: "A JobSet that has completed or failed is never restarted, whatever its Pods do while they go away.",
    apply: stopWhenFinished,
  },
  {
    name: "rest-on-success",
    why: "A JobSet whose success policy is met neither restarts nor fails, not even for a budget spent before.",
    apply: restOnSuccess,
  },
  {
    name: "fail-on-spent-budget",
    why: "Once the budget is recorded as spent nothing may restart; failing the JobSet is retried until it succeeds.",
    apply: failOnSpentBudget,
  },
  {
    name: "close-when-suspended",
    why: "A suspension deletes Pods, so it is recognized before those deletions look like failures.",
    apply: closeWhenSuspended,
  },
  {
    name: "adopt-pod-epochs",
    why: "The rules below compare Pods with the recorded epochs, so epochs that lag behind are corrected first.",
    apply: adoptPodEpochs,
  },
  {
    name: "hold-for-success",
    why: "Peers crash when their driver succeeds, so a crash waits for its report before it has any effect.",
    apply: holdForSuccess,
  },
  {
    name: "fail-on-exit-code",
    why: "A non-retriable exit code wins over every failure that would restart the group, even over one seen earlier.",
    apply: failOnExitCode,
  },
  {
    name: "fail-on-failure-rule",
    why: "A failure that a rule of the JobSet makes final wins over every other, as long as the restart is open.",
    apply: failOnFailureRule,
  },
  {
    name: "recreate-on-exit-code",
    why: "JobSet decides about a Job that its podFailurePolicy fails, whatever budget is left for restarts in place.",
    apply: recreateOnExitCode,
  },
  {
    name: "hold-for-final-failure",
    why: "A crash waits for one that would be final, because the end of the epoch stops every worker.",
    apply: holdForFinalFailure,
  },
  {
    name: "end-epoch",
    why: "A failure ends the running epoch before anything is repaired, so that the restart is counted exactly once.",
    apply: endEpoch,
  },
  {
    name: "restart-on-request",
    why: "A failure that is known already ends the epoch first and is counted; its restart answers the request too.",
    apply: restartOnRequest,
  },
  {
    name: "judge-hang",
    why: "A failure or a request ends the epoch anyway, and explains better than a hang why nothing moves.",
    apply: judgeHang,
  },
  {
    name: "uncount-disruption",
    why: "It needs the record that end-epoch opened, and must come before any rule that charges the budget.",
    apply: uncountDisruption,
  },
  {
    name: "recreate-after-partial-success",
    why: "It replaces the recorded action, so it comes before the rules that carry the action out.",
    apply: recreateAfterPartialSuccess,
  },
  {
    name: "settle-blame",
    why: "It may choose a stronger action than the restart in place, so it comes before the rules that carry one out.",
    apply: settleBlame,
  },
  {
    name: "replace-pod",
    why: "A Pod that cannot restart in place is deleted before the barrier counts it as present.",
    apply: replacePod,
  },
  {
    name: "recreate-jobset",
    why: "The Job at fault is failed before the barrier could be lifted for Pods that JobSet is about to delete.",
    apply: recreateJobSet,
  },
  {
    name: "enforce-budget",
    why: "When every Pod is back the cause is final, so a restart beyond the budget fails the JobSet now.",
    apply: enforceBudget,
  },
  {
    name: "hold-barrier",
    why: "The back-off delays only a restart that is allowed and complete, so it comes right before the barrier lifts.",
    apply: holdBarrier,
  },
  {
    name: "lift-barrier",
    why: "The new epoch starts when nothing above objects.",
    apply: liftBarrier,
  },
  {
    name: "release-stages",
    why: "Later stages start only in an epoch that runs, in the startup order of the JobSet.",
    apply: releaseStages,
  },
  {
    name: "finish-restart",
    why: "A restart is over when every worker runs, which needs the barrier lifted and the stages released.",
    apply: finishRestart,
  },
  {
    name: "report-stall",
    why: "Last, because a group is stalled only if no other rule can act.",
    apply: reportStall,
  },
];
