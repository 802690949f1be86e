// One group as the page shows it, from its InPlaceRestart and its JobSet. Pure.
import { budgetOf } from "../../../controller/escalation/used-budget.ts";
import { CONDITION } from "../../../controller/status/conditions.ts";
import { describeCause } from "../../../controller/status/history.ts";
import { hasOpenRestart } from "../../api/availability-figures.ts";
import { sourceText } from "../../api/budget.ts";
import type { InPlaceRestart, InPlaceRestartStatus, RestartRecord } from "../../api/in-place-restart.ts";
import type { JobSet } from "../../api/jobset.ts";
import {
  type GroupDetail,
  type GroupView,
  type RecoveryFigures,
  type RestartView,
  STEPS,
  type Step,
  type Wait,
} from "./wire.ts";

/** `jobSet` is absent if it is not known yet, or was deleted. */
export function groupView(object: InPlaceRestart, jobSet: JobSet | undefined): GroupView {
  const { namespace, name, status } = object;
  const inPlace = status?.restarts ?? 0;
  const budget = jobSet === undefined ? undefined : budgetOf(jobSet, inPlace);
  return {
    key: `${namespace}/${name}`,
    phase: status?.phase ?? "Starting",
    suspended: jobSet?.suspended ?? false,
    ready: status?.ready ?? "",
    ...(status === undefined ? {} : { epoch: status.syncedEpoch }),
    restarts: budget?.used ?? inPlace,
    ...(budget === undefined ? {} : { budget: { max: budget.max, from: sourceText(budget.from) } }),
    ...(status?.availability === undefined
      ? {}
      : { account: { ...status.availability, isOpen: hasOpenRestart(status) } }),
    recovery: recoveryFigures(status),
    waitsFor: waits(status),
  };
}

export function groupDetail({ namespace, name, status }: InPlaceRestart): GroupDetail {
  return {
    key: `${namespace}/${name}`,
    ...(status === undefined ? {} : { syncedEpoch: status.syncedEpoch, deprecatedEpoch: status.deprecatedEpoch }),
    heldStages: status?.heldStages ?? [],
    history: (status?.history ?? []).map(restartView).reverse(),
  };
}

function restartView(record: RestartRecord): RestartView {
  const { cause, action, rule, fromEpoch, toEpoch, counted, backoffUntil } = record;
  return {
    cause: describeCause(cause),
    reason: cause.reason,
    action,
    ...(rule === undefined ? {} : { rule }),
    fromEpoch,
    ...(toEpoch === undefined ? {} : { toEpoch }),
    counted,
    ...(cause.message === undefined ? {} : { lastWords: cause.message }),
    ...(backoffUntil === undefined ? {} : { backoffUntil }),
    steps: timesOf(record),
  };
}

function timesOf(record: RestartRecord): Readonly<Partial<Record<Step, number>>> {
  return Object.fromEntries(
    STEPS.flatMap((step) => {
      const time = Date.parse(record[step] ?? "");
      return Number.isNaN(time) ? [] : [[step, time]];
    }),
  );
}

function recoveryFigures(status: InPlaceRestartStatus | undefined): RecoveryFigures {
  const seconds = (status?.history ?? [])
    .flatMap((record) => {
      const { failureSeen, allRunning } = timesOf(record);
      return failureSeen === undefined || allRunning === undefined ? [] : [(allRunning - failureSeen) / 1_000];
    })
    .sort((a, b) => a - b);
  const ready = status?.conditions.find(({ type, status }) => type === CONDITION.ready && status === "True");
  const median = seconds[Math.floor((seconds.length - 1) / 2)];
  const longest = seconds.at(-1);
  return {
    completed: seconds.length,
    ...(median === undefined ? {} : { medianSeconds: median }),
    ...(longest === undefined ? {} : { longestSeconds: longest }),
    ...(ready?.lastTransitionTime === undefined ? {} : { runningSince: ready.lastTransitionTime }),
  };
}

/** The most specific first. */
const WAITING: readonly string[] = [
  CONDITION.budgetSpent,
  CONDITION.waitingForTermination,
  CONDITION.stalled,
  CONDITION.stageWaits,
  CONDITION.atBarrier,
];

function waits(status: InPlaceRestartStatus | undefined): readonly Wait[] {
  return WAITING.flatMap((wanted) => {
    const condition = status?.conditions.find(({ type, status }) => type === wanted && status === "True");
    if (condition === undefined) return [];
    const { type, message, reason, lastTransitionTime: since } = condition;
    return [{ type, message: message === "" ? reason : message, ...(since === undefined ? {} : { since }) }];
  });
}
