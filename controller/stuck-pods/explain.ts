// What becomes of a Pod that does not end, and what its user can do, in words for people. No ages and no counts: the text goes into
// conditions, where every change is a write. Pure.
import { ANNOTATION, LABEL } from "../../src/api/names.ts";
import type { Pod } from "../../src/api/pod.ts";
import type { LeaveReason, StuckVerdict } from "./decide.ts";

/** Such as "it is forcefully deleted at 2026-01-01T00:01:00Z unless its node comes back". */
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

/** RFC 3339 in whole seconds, as Kubernetes writes deletion times. */
export function wholeSeconds(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}

function freedAt(time: number): string {
  return `it is forcefully deleted at ${wholeSeconds(time)} unless its node comes back`;
}

export function annotateCommand({ namespace, name }: Pick<Pod, "name" | "namespace">): string {
  return `kubectl annotate pod -n ${namespace} ${name} ${ANNOTATION.safeToForcefullyDelete}=true`;
}

const EXPLANATIONS: Readonly<Record<LeaveReason, (pod: Pick<Pod, "name" | "namespace">) => string>> = {
  NotTerminating: () => "nobody has asked for its deletion",
  NamespaceNotOptedIn: ({ namespace }) =>
    `it is left alone, because namespace ${namespace} does not have the label ${LABEL.injection}=enabled`,
  NotRunning: () => "it has ended, and nobody waits for it",
  AlreadyFreed: () => "it was freed, and only a finalizer keeps its object",
  NoConsent: (pod) =>
    `it is left alone, because it may still run there; if a second copy of it does no harm, let it be forcefully deleted: ${annotateCommand(pod)} (on the JobSet, before it is created, for all of its Pods)`,
  Disabled: () => "it is left alone, because stuckPods.enabled is false in the controller's config",
  NodeNotUnreachable: () =>
    "its node is not unreachable, so it is left to the kubelet: look at the Pod's finalizers, its volumes and the kubelet's log",
  Braked: () =>
    "it is left alone, because so many nodes are unreachable at once that the control plane itself may be cut off, and the Pods run on (stuckPods.brake)",
};
