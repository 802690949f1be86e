// Whether a Pod is stuck on a lost node and may be freed: a pure function of the Pod, the cluster around it and the time. It
// looks at state only, so it may be asked at any time, by any replica, and after a crash between the two writes of a freeing.
import { isTrue } from "../../src/api/metadata.ts";
import { FAILURE_RECOVERY } from "../../src/api/names.ts";
import type { Pod } from "../../src/api/pod.ts";
import type { Surroundings } from "./surroundings.ts";

/** Why a Pod is left alone: in metric, log and condition alike. */
export const LEAVE_REASONS = [
  "NotTerminating",
  /** Its namespace lacks the opt-in label. */
  "NamespaceNotOptedIn",
  /** It has ended, or its phase is unknown: nobody waits for it, or nobody knows. */
  "NotRunning",
  /** Freed before, and kept by somebody's finalizer. */
  "AlreadyFreed",
  /** No annotation says that forceful deletion is safe. */
  "NoConsent",
  "Disabled",
  /** Its node is back, or was never unreachable, or is gone: the kubelet or Pod garbage collection ends it. */
  "NodeNotUnreachable",
  "Braked",
] as const;
export type LeaveReason = (typeof LEAVE_REASONS)[number];

/** Pods of others, and those that nobody deletes, are the rule on any node: not worth a word. */
export function isUsual(reason: LeaveReason): boolean {
  return reason === "NotTerminating" || reason === "NamespaceNotOptedIn";
}

export type StuckVerdict =
  /** `marked`: it has the phase and condition already, and only its deletion is missing. `since`: when it became due. */
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
  // The deletion that follows the mark leaves no grace; without it, the controller was killed in between.
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
 * deletionTimestamp is the end of the grace period, not the moment of the request. A Pod that was terminating for long before its node
 * was lost waits for the threshold too: a node that was silent for a moment must not cost it. So does one after the brake has let go,
 * because the first node that comes back may lift it while the others are about to.
 */
function dueAt(deletionTimestamp: string, unreachableSince = "", { settledAt, settings }: Surroundings): number {
  const times = [settledAt, Date.parse(deletionTimestamp), Date.parse(unreachableSince)];
  return Math.max(...times.filter((time) => !Number.isNaN(time))) + settings.threshold;
}

function leave(reason: LeaveReason): StuckVerdict {
  return { kind: "leave", reason };
}
