// What upstream's agent does with its JobSet, as Reconcile of cmd/in-place-restart-agent. Pure.
import { asInteger, asMap } from "../../src/json/fields.ts";

export interface UpstreamState {
  /** Absent until it is on the Pod. */
  readonly attempt?: number;
  readonly isLifted: boolean;
}

export type UpstreamAction =
  | { readonly kind: "publish"; readonly attempt: number }
  | { readonly kind: "exit" }
  | { readonly kind: "lift" }
  | { readonly kind: "wait" };

export function decideUpstream({ attempt, isLifted }: UpstreamState, jobSet: unknown): UpstreamAction {
  const { currentInPlaceRestartAttempt, previousInPlaceRestartAttempt } = asMap(asMap(jobSet)["status"]);
  const current = asInteger(currentInPlaceRestartAttempt);
  const previous = asInteger(previousInPlaceRestartAttempt);
  if (attempt === undefined) return { kind: "publish", attempt: current === undefined ? 0 : current + 1 };
  if (previous !== undefined && attempt <= previous) return { kind: "exit" };
  return attempt === current && !isLifted ? { kind: "lift" } : { kind: "wait" };
}
