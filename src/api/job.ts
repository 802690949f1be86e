// The fields of a child Job that show which of its slots are filled or done. Pure.
import { asCount, asIndex, asMap, asText } from "../json/fields.ts";
import {
  type Identity,
  isTrue,
  type Owner,
  readConditions,
  readController,
  readDeletionTimestamp,
  readIdentity,
  readLabels,
} from "./metadata.ts";
import { JOBSET } from "./names.ts";

/** A run of completion indexes, both ends included. */
interface IndexRange {
  readonly first: number;
  readonly last: number;
}

export interface Job extends Identity {
  readonly controller?: Owner;
  readonly replicatedJob: string;
  readonly jobIndex?: number;
  readonly deletionTimestamp?: string;
  readonly suspended: boolean;
  readonly activeDeadlineSeconds?: number;
  readonly parallelism: number;
  readonly completions?: number;
  readonly completedIndexes: readonly IndexRange[];
  readonly succeeded: number;
  readonly ready: number;
  readonly outcome: "Complete" | "Failed" | "none";
}

/** What a Job reports when it has just been created. */
export const NEW_JOB = {
  suspended: false,
  completedIndexes: [],
  succeeded: 0,
  ready: 0,
  outcome: "none",
} as const satisfies Partial<Job>;

export function readJob(raw: unknown): Job {
  const spec = asMap(asMap(raw)["spec"]);
  const status = asMap(asMap(raw)["status"]);
  const labels = readLabels(raw);
  const conditions = readConditions(status["conditions"]);
  const controller = readController(raw);
  const deletionTimestamp = readDeletionTimestamp(raw);
  const completions = asCount(spec["completions"]);
  const activeDeadlineSeconds = asCount(spec["activeDeadlineSeconds"]);
  const jobIndex = asIndex(labels[JOBSET.jobIndexKey]);
  return {
    ...readIdentity(raw),
    ...(controller === undefined ? {} : { controller }),
    replicatedJob: labels[JOBSET.replicatedJobKey] ?? "",
    ...(jobIndex === undefined ? {} : { jobIndex }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    suspended: spec["suspend"] === true,
    ...(activeDeadlineSeconds === undefined ? {} : { activeDeadlineSeconds }),
    parallelism: asCount(spec["parallelism"]) ?? 1,
    ...(completions === undefined ? {} : { completions }),
    completedIndexes: readIndexes(asText(status["completedIndexes"]) ?? ""),
    succeeded: asCount(status["succeeded"]) ?? 0,
    ready: asCount(status["ready"]) ?? 0,
    // SuccessCriteriaMet and FailureTarget come earlier: the Job is still terminating its Pods.
    outcome: isTrue(conditions, "Complete") ? "Complete" : isTrue(conditions, "Failed") ? "Failed" : "none",
  };
}

/** The format of a Job's status: "1,3-5,7". An invalid part completes nothing. */
function readIndexes(text: string): IndexRange[] {
  return text.split(",").flatMap((part) => {
    const [, first, last] = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(part) ?? [];
    if (first === undefined) return [];
    const range = { first: Number(first), last: Number(last ?? first) };
    return range.last >= range.first ? [range] : [];
  });
}
