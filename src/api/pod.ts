// The fields of a Pod that decisions need, and no others: the controller caches one of these per injected Pod. Pure.

import { asCount, asIndex, asInteger, asList, asMap, asText } from "../json/fields.ts";
import { type EpochReading, readEpoch } from "./epoch.ts";
import { type HangReport, readHangReport } from "./hang-report.ts";
import { lastWords } from "./last-words.ts";
import {
  type Condition,
  type Identity,
  type Owner,
  readAnnotations,
  readConditions,
  readController,
  readDeletionTimestamp,
  readIdentity,
  readLabels,
} from "./metadata.ts";
import {
  ANNOTATION,
  COMPLETION_INDEX_LABEL,
  FAILURE_RECOVERY,
  HANG_ANNOTATION,
  JOBSET,
  KUEUE,
  LABEL,
  LAST_STEP_ANNOTATION,
  SHM_LEFTOVER_ANNOTATION,
} from "./names.ts";

export type ContainerState =
  | { readonly kind: "waiting"; readonly reason: string }
  | { readonly kind: "running"; readonly startedAt?: string }
  | {
      readonly kind: "terminated";
      readonly exitCode: number;
      readonly reason: string;
      readonly startedAt?: string;
      readonly finishedAt?: string;
      /** The end of its termination message, as plain text. */
      readonly message?: string;
    }
  /** The kubelet has not reported one yet. */
  | { readonly kind: "unknown" };

export interface ContainerStatus {
  readonly name: string;
  /** True for sidecars such as the agent. */
  readonly init: boolean;
  /** Identifies one run of the container. Absent before the first run. */
  readonly containerID?: string;
  readonly restartCount: number;
  readonly started: boolean;
  readonly ready: boolean;
  readonly state: ContainerState;
}

export interface Pod extends Identity {
  readonly controller?: Owner;
  /** From labels. Any user may write them: they select Pods, but only the owner chain proves membership. */
  readonly jobSetName: string;
  readonly jobSetUid: string;
  readonly replicatedJob: string;
  readonly jobIndex?: number;
  readonly completionIndex?: number;
  readonly injected: boolean;
  readonly safeToForcefullyDelete: boolean;
  readonly epoch: EpochReading;
  /** What earlier runs left in shared memory. Absent if it is little. Every worker of the Pod may forge it. */
  readonly shmLeftoverBytes?: number;
  /** That its worker makes no progress. Every worker of the Pod may forge it. */
  readonly hang?: HangReport;
  /** The last step of the epoch before this one, as far as its agent knows it. */
  readonly lastStep?: number;
  readonly phase: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
  /** Why the Pod is in its phase, such as Evicted. */
  readonly reason: string;
  readonly deletion?: { readonly timestamp: string; readonly graceSeconds: number };
  readonly node?: string;
  /** Whether it has a node, and its kubelet has not reported its address. No DNS name leads to it yet. */
  readonly awaitsAddress: boolean;
  readonly conditions: readonly Condition[];
  readonly containers: readonly ContainerStatus[];
}

/** A Pod of an injected JobSet before its kubelet has seen it. */
export const NEW_POD = {
  injected: true,
  safeToForcefullyDelete: false,
  epoch: { kind: "absent" },
  phase: "Pending",
  reason: "",
  awaitsAddress: false,
  conditions: [],
  containers: [],
} as const satisfies Partial<Pod>;

export function readPod(raw: unknown): Pod {
  const spec = asMap(asMap(raw)["spec"]);
  const status = asMap(asMap(raw)["status"]);
  const labels = readLabels(raw);
  const controller = readController(raw);
  const jobIndex = asIndex(labels[JOBSET.jobIndexKey]);
  const completionIndex = asIndex(labels[COMPLETION_INDEX_LABEL]);
  const deletion = readDeletion(raw);
  const node = asText(spec["nodeName"]) ?? "";
  const annotations = readAnnotations(raw);
  const shmLeftoverBytes = readNumber(annotations[SHM_LEFTOVER_ANNOTATION]);
  const hang = readHangReport(annotations[HANG_ANNOTATION]);
  const lastStep = readNumber(annotations[LAST_STEP_ANNOTATION]);
  return {
    ...readIdentity(raw),
    ...(controller === undefined ? {} : { controller }),
    jobSetName: labels[JOBSET.nameKey] ?? "",
    jobSetUid: labels[JOBSET.uidKey] ?? "",
    replicatedJob: labels[JOBSET.replicatedJobKey] ?? "",
    ...(jobIndex === undefined ? {} : { jobIndex }),
    ...(completionIndex === undefined ? {} : { completionIndex }),
    injected: labels[LABEL.injected] === "true",
    safeToForcefullyDelete: readForceDeleteConsent(raw) !== undefined,
    epoch: readEpoch(asMap(asMap(asMap(raw)["metadata"])["annotations"])[JOBSET.epochAnnotation]),
    ...(shmLeftoverBytes === undefined ? {} : { shmLeftoverBytes }),
    ...(hang === undefined ? {} : { hang }),
    ...(lastStep === undefined ? {} : { lastStep }),
    phase: readPhase(status["phase"]),
    reason: asText(status["reason"]) ?? "",
    ...(deletion === undefined ? {} : { deletion }),
    ...(node === "" ? {} : { node }),
    awaitsAddress: node !== "" && (asText(status["podIP"]) ?? "") === "",
    conditions: readConditions(status["conditions"]).filter(({ type }) => KEPT_CONDITIONS.has(type)),
    containers: [
      ...asList(status["initContainerStatuses"]).map((item) => readContainer(item, true)),
      ...asList(status["containerStatuses"]).map((item) => readContainer(item, false)),
    ],
  };
}

/**
 * Ready counts slots, PodScheduled explains a missing one, DisruptionTarget a lost one, and our own condition marks a
 * forced deletion. A Pod has up to five more conditions, which are dropped.
 */
const KEPT_CONDITIONS: ReadonlySet<string> = new Set([
  "Ready",
  "PodScheduled",
  "DisruptionTarget",
  FAILURE_RECOVERY.condition,
]);

const FORCE_DELETE_OPT_INS = [
  ANNOTATION.safeToForcefullyDelete,
  KUEUE.safeToForcefullyDelete,
  KUEUE.safeToForcefullyTerminate,
] as const;

/** The annotation that allows the forced deletion of this Pod. */
export function readForceDeleteConsent(raw: unknown): string | undefined {
  const annotations = readAnnotations(raw);
  return FORCE_DELETE_OPT_INS.find((key) => annotations[key] === "true");
}

function readPhase(value: unknown): Pod["phase"] {
  return value === "Pending" || value === "Running" || value === "Succeeded" || value === "Failed" ? value : "Unknown";
}

/** Digits only, as the agent writes them. 15 are exact in a number. */
function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function readDeletion(raw: unknown): Pod["deletion"] {
  const timestamp = readDeletionTimestamp(raw);
  if (timestamp === undefined) return undefined;
  return { timestamp, graceSeconds: asCount(asMap(asMap(raw)["metadata"])["deletionGracePeriodSeconds"]) ?? 0 };
}

function readContainer(item: unknown, init: boolean): ContainerStatus {
  const status = asMap(item);
  const state = asMap(status["state"]);
  // After a termination the kubelet may report the ID only inside the state.
  const containerID = asText(status["containerID"]) ?? asText(asMap(state["terminated"])["containerID"]);
  return {
    name: asText(status["name"]) ?? "",
    init,
    ...(containerID === undefined || containerID === "" ? {} : { containerID }),
    restartCount: asCount(status["restartCount"]) ?? 0,
    started: status["started"] === true,
    ready: status["ready"] === true,
    state: readState(state),
  };
}

function readState(state: Readonly<Record<string, unknown>>): ContainerState {
  if (isSet(state["terminated"])) {
    const terminated = asMap(state["terminated"]);
    const startedAt = asText(terminated["startedAt"]);
    const finishedAt = asText(terminated["finishedAt"]);
    const message = lastWords(asText(terminated["message"]) ?? "");
    return {
      kind: "terminated",
      // The API always sends an exit code. A missing one is lost, and not a success.
      exitCode: asInteger(terminated["exitCode"]) ?? LOST_EXIT_CODE,
      reason: asText(terminated["reason"]) ?? "",
      ...(startedAt === undefined ? {} : { startedAt }),
      ...(finishedAt === undefined ? {} : { finishedAt }),
      ...(message === undefined ? {} : { message }),
    };
  }
  if (isSet(state["running"])) {
    const startedAt = asText(asMap(state["running"])["startedAt"]);
    return { kind: "running", ...(startedAt === undefined ? {} : { startedAt }) };
  }
  if (isSet(state["waiting"])) return { kind: "waiting", reason: asText(asMap(state["waiting"])["reason"]) ?? "" };
  return { kind: "unknown" };
}

/** The kubelet reports this code for a container whose exit it did not see. */
const LOST_EXIT_CODE = 137;

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
