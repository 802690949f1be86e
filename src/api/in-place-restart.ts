// The InPlaceRestart object: the state of one group, shared by the controller (its only writer) and the agents.
// Every agent of the group receives it on every change, so it stays small: lists are bounded, here and in the CRD.
import { asCount, asInteger, asList, asMap, asText } from "../json/fields.ts";
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

/** Entries of the history that are kept: about 6 KB, and enough for escalation to see the same Pod fail again. */
export const HISTORY_LIMIT = 10;

/** Characters of a condition's message. A longer one has the whole status refused. */
export const MESSAGE_LIMIT = 1024;

/** What made a group restart. */
export const RESTART_REASONS = [
  /** A worker container ended with a non-zero code. */
  "ContainerExited",
  /** A Pod restarted into a newer epoch before its failure was seen. */
  "PodRestarted",
  "PodFailed",
  "PodDeleted",
  /** Preemption, drain or node loss: not the job's fault, so not counted. */
  "Disruption",
  /** The InPlaceRestart object was lost while the group ran. */
  "StateLost",
] as const;
type RestartReason = (typeof RESTART_REASONS)[number];

export interface RestartCause {
  readonly reason: RestartReason;
  readonly pod?: string;
  readonly container?: string;
  readonly exitCode?: number;
}

/** When each step of a group restart was seen, in RFC 3339 with milliseconds. A step still to come is absent. */
export interface RestartSteps {
  readonly failureSeen?: string;
  readonly deprecated?: string;
  readonly allRestarted?: string;
  readonly synced?: string;
  readonly allRunning?: string;
}

/** What was done about a failure, gentlest first. */
export const RESTART_ACTIONS = [
  "RestartInPlace",
  /** The Pod at fault is deleted, so that its slot gets a new one. */
  "RecreatePod",
  /** Its Job is made to fail, so that JobSet recreates everything by its own failure policy. */
  "RecreateJobSet",
  "FailJobSet",
] as const;
export type RestartAction = (typeof RESTART_ACTIONS)[number];

/** Failures since a run last lasted long enough to count as progress, this one included. */
export interface Streak {
  /** Of the whole group. */
  readonly restarts: number;
  /** The slot that failed last, such as "train-workers-0/1" (Job and index), and how often in a row it was that one. */
  readonly slot: string;
  readonly failures: number;
}

export interface RestartRecord extends RestartSteps {
  readonly cause: RestartCause;
  readonly action: RestartAction;
  /** UID of the Pod or Job that the action removes. */
  readonly target?: string;
  readonly streak?: Streak;
  /** The barrier is not lifted before this time, because the streak is long. */
  readonly backoffUntil?: string;
  /** The epoch that ended, and the one that the group restarted into once it is known. */
  readonly fromEpoch: number;
  readonly toEpoch?: number;
  /** Whether it counts towards the budget. */
  readonly counted: boolean;
}

export interface InPlaceRestartStatus {
  /** Pods at or below this epoch restart in place. Never above syncedEpoch, never moves back. */
  readonly deprecatedEpoch: number;
  /** Pods at this epoch lift their barrier. Never moves back. */
  readonly syncedEpoch: number;
  /** replicatedJobs whose barrier stays down for now. */
  readonly heldStages: readonly string[];
  /** Group restarts that count towards the budget. */
  readonly restarts: number;
  readonly phase: Phase;
  /** Pods ready out of Pods expected, such as "8/8": for people, in `kubectl get`. */
  readonly ready: string;
  /** Newest last. */
  readonly history: readonly RestartRecord[];
  readonly conditions: readonly Condition[];
}

export interface InPlaceRestart extends Identity {
  readonly jobSetUID: string;
  /** Absent until the controller has written both epochs; until then no agent may take one. */
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
  return {
    deprecatedEpoch,
    syncedEpoch,
    heldStages: asList(status["heldStages"]).flatMap((name) => asText(name) ?? []),
    restarts: asCount(status["restarts"]) ?? 0,
    phase: PHASES.find((phase) => phase === status["phase"]) ?? "Starting",
    ready: asText(status["ready"]) ?? "",
    history: asList(status["history"]).flatMap(readRecord),
    conditions: readConditions(status["conditions"]),
  };
}

function readRecord(value: unknown): RestartRecord[] {
  const record = asMap(value);
  const fromEpoch = asCount(record["fromEpoch"]);
  const reason = RESTART_REASONS.find((known) => known === asMap(record["cause"])["reason"]);
  if (fromEpoch === undefined || reason === undefined) return [];
  const toEpoch = asCount(record["toEpoch"]);
  const target = asText(record["target"]);
  const streak = readStreak(record["streak"]);
  const backoffUntil = asText(record["backoffUntil"]);
  return [
    {
      cause: readCause(reason, record["cause"]),
      action: RESTART_ACTIONS.find((known) => known === record["action"]) ?? "RestartInPlace",
      ...(target === undefined ? {} : { target }),
      ...(streak === undefined ? {} : { streak }),
      ...(backoffUntil === undefined ? {} : { backoffUntil }),
      fromEpoch,
      ...(toEpoch === undefined ? {} : { toEpoch }),
      counted: record["counted"] === true,
      ...readSteps(record),
    },
  ];
}

function readCause(reason: RestartReason, value: unknown): RestartCause {
  const cause = asMap(value);
  const pod = asText(cause["pod"]);
  const container = asText(cause["container"]);
  const exitCode = asInteger(cause["exitCode"]);
  return {
    reason,
    ...(pod === undefined ? {} : { pod }),
    ...(container === undefined ? {} : { container }),
    ...(exitCode === undefined ? {} : { exitCode }),
  };
}

function readStreak(value: unknown): Streak | undefined {
  const streak = asMap(value);
  const restarts = asCount(streak["restarts"]);
  const slot = asText(streak["slot"]);
  const failures = asCount(streak["failures"]);
  return restarts === undefined || slot === undefined || failures === undefined
    ? undefined
    : { restarts, slot, failures };
}

const STEPS = ["failureSeen", "deprecated", "allRestarted", "synced", "allRunning"] as const;

function readSteps(record: Readonly<Record<string, unknown>>): RestartSteps {
  return Object.fromEntries(STEPS.flatMap((step) => (typeof record[step] === "string" ? [[step, record[step]]] : [])));
}
