// The InPlaceRestart object: the state of one group, written and read by the controller. Agents read a copy of its
// epochs (group-epoch.ts). Every change is written whole, so it stays small: lists are bounded, here and in the CRD.
import { asCount, asInteger, asList, asMap, asText } from "../json/fields.ts";
import { type Availability, readAvailability } from "./availability.ts";
import { type Condition, type Identity, readConditions, readIdentity } from "./metadata.ts";
import { GROUP } from "./names.ts";

export const IN_PLACE_RESTART = {
  group: GROUP,
  version: "v1alpha1",
  plural: "inplacerestarts",
  kind: "InPlaceRestart",
} as const;

export const PHASES = ["Starting", "Running", "Restarting", "Completed", "Failed"] as const;
export type Phase = (typeof PHASES)[number];

/** Records kept in the history: about 6 KB. */
export const HISTORY_LIMIT = 10;

/** Characters of the name of a rule. */
export const RULE_NAME_LIMIT = 63;

/** Characters of a condition's message. The API server rejects the whole status if one is longer. */
export const MESSAGE_LIMIT = 1024;

/** Why a group restarted. */
export const RESTART_REASONS = [
  /** A worker container exited with a non-zero code. */
  "ContainerExited",
  /** A Pod restarted into a newer epoch before its failure was seen. */
  "PodRestarted",
  "PodFailed",
  "PodDeleted",
  /** Preemption, drain or node loss. Not a failure of the workload, so not counted. */
  "Disruption",
  /** The InPlaceRestart object was lost while the group ran. */
  "StateLost",
  /** No worker made progress. */
  "Hung",
  /** An annotation of the JobSet asked for a restart. */
  "Requested",
] as const;
type RestartReason = (typeof RESTART_REASONS)[number];

export interface RestartCause {
  readonly reason: RestartReason;
  /** The Pod to blame. Until the restart is judged, the Pod whose failure was seen first. */
  readonly pod?: string;
  /** Where that Pod ran: it may be gone when the restart is judged. */
  readonly node?: string;
  readonly container?: string;
  readonly exitCode?: number;
  /** The last words of the container, as plain text. */
  readonly message?: string;
  /** Names of Pods that failed at about the same time, so that none of them can be blamed. */
  readonly candidates?: readonly string[];
  /** The request that was carried out, as the user wrote it. */
  readonly request?: string;
  /** When the worker to blame made its last progress, and its last step. Only of a hang. */
  readonly since?: string;
  readonly step?: number;
  /** Its rank, if NCCL was asked. */
  readonly rank?: number;
}

/** Candidates that a cause names. */
export const CANDIDATE_LIMIT = 5;

/** Pods that one restart replaces. A larger group that fails as a whole needs a recreation by JobSet. */
export const TARGET_LIMIT = 64;

/** When each step of a group restart was seen, in RFC 3339 with milliseconds. Future steps are absent. */
export interface RestartSteps {
  readonly failureSeen?: string;
  readonly deprecated?: string;
  readonly allRestarted?: string;
  readonly synced?: string;
  readonly allRunning?: string;
}

/** Actions after a failure, the mildest first. */
export const RESTART_ACTIONS = [
  "RestartInPlace",
  /** The failed Pod is deleted, so that its Job creates a new one. */
  "RecreatePod",
  /** The Job is made to fail, so that JobSet recreates all Jobs by its own failure policy. */
  "RecreateJobSet",
  "FailJobSet",
] as const;
export type RestartAction = (typeof RESTART_ACTIONS)[number];

/** Failures since the last run that lasted long enough to count as progress, including this one. */
export interface Streak {
  /** Restarts of the whole group. */
  readonly restarts: number;
  /** The slot that was blamed last: Job name and completion index, such as "train-workers-0/1". */
  readonly slot?: string;
  /** Failures in a row of that slot. */
  readonly failures?: number;
  /** Restarts for which no slot could be blamed. */
  readonly unexplained?: number;
}

export interface RestartRecord extends RestartSteps {
  readonly cause: RestartCause;
  readonly action: RestartAction;
  /** The rule of the controller that decided the action, by its name in the chain of rules. */
  readonly rule?: string;
  /** UID of the Pod or Job that the action removes. */
  readonly target?: string;
  /** UIDs of the Pods that the action replaces if there are several. Removed when the barrier lifts. */
  readonly targets?: readonly string[];
  readonly streak?: Streak;
  /** The barrier is not lifted before this time, because the group keeps failing. */
  readonly backoffUntil?: string;
  /** The epoch that ended. */
  readonly fromEpoch: number;
  /** The last step of the epoch that ended, if a worker reported steps. */
  readonly step?: number;
  /** The epoch that started after the restart; absent while the restart is open. */
  readonly toEpoch?: number;
  /** Whether the restart counts towards the budget. */
  readonly counted: boolean;
}

/** Jobs in `ruleFailures`. A Job that is left out only gets more retries than it had. */
export const RULE_FAILURES_LIMIT = 20;

/** Failures of one Job that a rule of the failure policy makes final once the retries of the Job are used up. */
export interface RuleFailures {
  /** UID of the Job: a Job that JobSet recreates starts with all of its retries. */
  readonly job: string;
  readonly failures: number;
  /** The epoch that the last of them ended. */
  readonly epoch: number;
}

export interface InPlaceRestartStatus {
  /** Pods at or below this epoch restart in place. Never greater than syncedEpoch, never decreases. */
  readonly deprecatedEpoch: number;
  /** Pods at this epoch may start their workers. Never decreases. */
  readonly syncedEpoch: number;
  /** replicatedJobs whose Pods still wait at the barrier. */
  readonly heldStages: readonly string[];
  /** Group restarts that count towards the budget. */
  readonly restarts: number;
  /** Absent without failures. The Job that failed last is the last one. */
  readonly ruleFailures?: readonly RuleFailures[];
  /** The last requests for a restart by hand that were carried out, newest last. Absent without any. */
  readonly handledRequests?: readonly string[];
  readonly phase: Phase;
  /** Ready Pods out of expected Pods, such as "8/8", for `kubectl get`. */
  readonly ready: string;
  /** Newest last. */
  readonly history: readonly RestartRecord[];
  /** Absent until the first summary. */
  readonly availability?: Availability;
  readonly conditions: readonly Condition[];
}

/** `status.ready` as numbers. */
export interface ReadyCount {
  readonly ready: number;
  readonly expected: number;
}

export function formatReady({ ready, expected }: ReadyCount): string {
  return `${ready}/${expected}`;
}

/** Undefined before the first count was written. */
export function readReady(text: string): ReadyCount | undefined {
  const [, ready, expected] = /^(\d{1,10})\/(\d{1,10})$/.exec(text) ?? [];
  return ready === undefined || expected === undefined
    ? undefined
    : { ready: Number(ready), expected: Number(expected) };
}

export interface InPlaceRestart extends Identity {
  readonly jobSetUID: string;
  /** Absent until the controller has written both epochs. Until then no agent may take an epoch. */
  readonly status?: InPlaceRestartStatus;
}

export function readInPlaceRestart(raw: unknown): InPlaceRestart {
  const status = readStatus(asMap(raw)["status"]);
  return {
    ...readIdentity(raw),
    jobSetUID: asText(asMap(asMap(raw)["spec"])["jobSetUID"]) ?? "",
    ...(status === undefined ? {} : { status }),
  };
}

function readStatus(value: unknown): InPlaceRestartStatus | undefined {
  const status = asMap(value);
  const deprecatedEpoch = asCount(status["deprecatedEpoch"]);
  const syncedEpoch = asCount(status["syncedEpoch"]);
  if (deprecatedEpoch === undefined || syncedEpoch === undefined) return undefined;
  const ruleFailures = asList(status["ruleFailures"]).flatMap(readRuleFailures);
  const handledRequests = readTexts(status["handledRequests"]);
  const availability = readAvailability(status["availability"]);
  return {
    deprecatedEpoch,
    syncedEpoch,
    heldStages: readTexts(status["heldStages"]),
    restarts: asCount(status["restarts"]) ?? 0,
    ...(ruleFailures.length === 0 ? {} : { ruleFailures }),
    ...(handledRequests.length === 0 ? {} : { handledRequests }),
    phase: PHASES.find((phase) => phase === status["phase"]) ?? "Starting",
    ready: asText(status["ready"]) ?? "",
    history: asList(status["history"]).flatMap(readRecord),
    ...(availability === undefined ? {} : { availability }),
    conditions: readConditions(status["conditions"]),
  };
}

function readRuleFailures(value: unknown): RuleFailures[] {
  const entry = asMap(value);
  const job = asText(entry["job"]);
  const failures = asCount(entry["failures"]);
  const epoch = asCount(entry["epoch"]);
  return job === undefined || failures === undefined || epoch === undefined ? [] : [{ job, failures, epoch }];
}

function readRecord(value: unknown): RestartRecord[] {
  const record = asMap(value);
  const fromEpoch = asCount(record["fromEpoch"]);
  const reason = RESTART_REASONS.find((known) => known === asMap(record["cause"])["reason"]);
  if (fromEpoch === undefined || reason === undefined) return [];
  const toEpoch = asCount(record["toEpoch"]);
  const rule = asText(record["rule"]);
  const target = asText(record["target"]);
  const targets = readTexts(record["targets"]);
  const streak = readStreak(record["streak"]);
  const backoffUntil = asText(record["backoffUntil"]);
  const step = asCount(record["step"]);
  return [
    {
      cause: readCause(reason, record["cause"]),
      action: RESTART_ACTIONS.find((known) => known === record["action"]) ?? "RestartInPlace",
      ...(rule === undefined ? {} : { rule }),
      ...(target === undefined ? {} : { target }),
      ...(targets.length === 0 ? {} : { targets }),
      ...(streak === undefined ? {} : { streak }),
      ...(backoffUntil === undefined ? {} : { backoffUntil }),
      fromEpoch,
      ...(step === undefined ? {} : { step }),
      ...(toEpoch === undefined ? {} : { toEpoch }),
      counted: record["counted"] === true,
      ...readSteps(record),
    },
  ];
}

function readCause(reason: RestartReason, value: unknown): RestartCause {
  const cause = asMap(value);
  const pod = asText(cause["pod"]);
  const node = asText(cause["node"]);
  const container = asText(cause["container"]);
  const exitCode = asInteger(cause["exitCode"]);
  const message = asText(cause["message"]);
  const candidates = readTexts(cause["candidates"]);
  const request = asText(cause["request"]);
  const since = asText(cause["since"]);
  const step = asCount(cause["step"]);
  const rank = asCount(cause["rank"]);
  return {
    reason,
    ...(pod === undefined ? {} : { pod }),
    ...(node === undefined ? {} : { node }),
    ...(container === undefined ? {} : { container }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(message === undefined ? {} : { message }),
    ...(candidates.length === 0 ? {} : { candidates }),
    ...(request === undefined ? {} : { request }),
    ...(since === undefined ? {} : { since }),
    ...(step === undefined ? {} : { step }),
    ...(rank === undefined ? {} : { rank }),
  };
}

function readTexts(value: unknown): readonly string[] {
  return asList(value).flatMap((item) => asText(item) ?? []);
}

function readStreak(value: unknown): Streak | undefined {
  const streak = asMap(value);
  const restarts = asCount(streak["restarts"]);
  if (restarts === undefined) return undefined;
  const slot = asText(streak["slot"]);
  const failures = asCount(streak["failures"]);
  const unexplained = asCount(streak["unexplained"]);
  return {
    restarts,
    ...(slot === undefined || failures === undefined ? {} : { slot, failures }),
    ...(unexplained === undefined ? {} : { unexplained }),
  };
}

const STEPS = ["failureSeen", "deprecated", "allRestarted", "synced", "allRunning"] as const;

function readSteps(record: Readonly<Record<string, unknown>>): RestartSteps {
  return Object.fromEntries(STEPS.flatMap((step) => (typeof record[step] === "string" ? [[step, record[step]]] : [])));
}
