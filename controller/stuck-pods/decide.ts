// Whether a Pod is stuck on an unreachable node and may be deleted by force ("freed"): a pure function of the Pod, the
// cluster and the time. It depends on state only, so any replica may ask at any time, also after a crash between the
// two writes that free a Pod.
import { isTrue } from "../../src/api/metadata.ts";
import { FAILURE_RECOVERY } from "../../src/api/names.ts";
import type { Pod } from "../../src/api/pod.ts";
import type { Surroundings } from "./surroundings.ts";

/** Why a Pod is left alone, as metrics, logs and conditions name it. */
export const LEAVE_REASONS = [
  "NotTerminating",
  /** Its namespace lacks the opt-in label. */
  "NamespaceNotOptedIn",
  /** The Pod has finished, or its phase is unknown. */
  "NotRunning",
  /** Freed before; only a finalizer keeps the object. */
  "AlreadyFreed",
  /** The annotation that allows forceful deletion is missing. */
  "NoConsent",
  "Disabled",
  /** The node is reachable or deleted: the kubelet or the Pod garbage collector removes the Pod. */
  "NodeNotUnreachable",
  "Braked",
] as const;
export type LeaveReason = (typeof LEAVE_REASONS)[number];

/** Reasons that most Pods on any node have, so they are not worth logging. */
export function isUsual(reason: LeaveReason): boolean {
  return reason === "NotTerminating" || reason === "NamespaceNotOptedIn";
}

export type StuckVerdict =
  /** `marked`: phase and condition are set, and only the deletion is missing. `since`: when the Pod became due. */
  | { readonly kind: "free"; readonly marked: boolean; readonly since: number }
  /** Milliseconds since 1970. */
  | { readonly kind: "wait"; readonly until: number }
  | { readonly kind: "leave"; readonly reason: LeaveReason };

export type JudgedPod = Pick<
  Pod,
  "namespace" | "deletion" | "phase" | "conditions" | "safeToForcefullyDelete" | "node"
>;

/** `now` in milliseconds since 1970. */
export function judgeStuckPod(pod: JudgedPod, around: Surroundings, now: number): StuckVerdict {
  const { deletion } = pod;
  if (deletion === undefined) return leave("NotTerminating");
  if (!around.optedIn.has(pod.namespace)) return leave("NamespaceNotOptedIn");
  const marked = isTrue(pod.conditions, FAILURE_RECOVERY.condition);
  // The forced deletion has no grace period. If there is one, the controller was killed before that deletion.
  if (marked && deletion.graceSeconds === 0) return leave("AlreadyFreed");
  if (!marked && pod.phase !== "Running" && pod.phase !== "Pending") return leave("NotRunning");
  if (!pod.safeToForcefullyDelete) return leave("NoConsent");
  if (!around.settings.enabled) return leave("Disabled");
  const unreachable = around.unreachable.get(pod.node ?? "");
  if (unreachable === undefined) return leave("NodeNotUnreachable");
  if (around.braked) return leave("Braked");
  const due = dueAt(deletion.timestamp, unreachable.since, around);
  return now < due ? { kind: "wait", until: due } : { kind: "free", marked, since: due };
}

/**
 * The threshold starts at the latest of three times. deletionTimestamp is the end of the grace period, not the time of
 * the request. The node's loss counts too: a short silence must not cost a Pod that was already terminating. So does
 * the end of the brake: the first node that returns may end it while the others are about to return.
 */
function dueAt(deletionTimestamp: string, unreachableSince = "", { settledAt, settings }: Surroundings): number {
  const times = [settledAt, Date.parse(deletionTimestamp), Date.parse(unreachableSince)];
  return Math.max(...times.filter((time) => !Number.isNaN(time))) + settings.threshold;
}

function leave(reason: LeaveReason): StuckVerdict {
  return { kind: "leave", reason };
}
