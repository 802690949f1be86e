// What happens to a Pod that does not terminate, and what the user can do, as text for conditions. It contains no ages
// and no counts, because every change of a condition is a write. Pure.
import { wholeSeconds } from "../../src/api/metadata.ts";
import { ANNOTATION, LABEL } from "../../src/api/names.ts";
import type { Pod } from "../../src/api/pod.ts";
import type { LeaveReason, StuckVerdict } from "./decide.ts";

/** For example "it is forcefully deleted at 2026-01-01T00:01:00Z unless its node comes back". */
export function explainVerdict(verdict: StuckVerdict, pod: Pick<Pod, "name" | "namespace">): string {
  switch (verdict.kind) {
    case "wait":
      return freedAt(verdict.until);
    case "free":
      return freedAt(verdict.since);
    case "leave":
      return EXPLANATIONS[verdict.reason](pod);
  }
}

function freedAt(time: number): string {
  return `it is forcefully deleted at ${wholeSeconds(time)} unless its node comes back`;
}

export function annotateCommand({ namespace, name }: Pick<Pod, "name" | "namespace">): string {
  return `kubectl annotate pod -n ${namespace} ${name} ${ANNOTATION.safeToForcefullyDelete}=true`;
}

const EXPLANATIONS: Readonly<Record<LeaveReason, (pod: Pick<Pod, "name" | "namespace">) => string>> = {
  NotTerminating: () => "it is not being deleted",
  NamespaceNotOptedIn: ({ namespace }) =>
    `it is left alone, because namespace ${namespace} does not have the label ${LABEL.injection}=enabled`,
  NotRunning: () => "it is not running",
  AlreadyFreed: () => "it was forcefully deleted, and only a finalizer keeps its object",
  NoConsent: (pod) =>
    "it is left alone, because it may still run there; if a second copy does no harm, allow its forceful deletion: " +
    `${annotateCommand(pod)} (or annotate the JobSet before it is created, for all of its Pods)`,
  Disabled: () => "it is left alone, because stuckPods.enabled is false in the controller's config",
  NodeNotUnreachable: () =>
    "its node is not unreachable, so the kubelet has to end it: check finalizers, volumes and the kubelet's log",
  Braked: () =>
    "it is left alone, because so many nodes are unreachable at once that the control plane itself may be cut off " +
    "while the Pods keep running (stuckPods.brake)",
};
