// Events about single Pods. Each is recorded once, because the state behind it lasts. Pure.
import type { Group } from "../group/group.ts";
import type { EventReason } from "./event-reasons.ts";
import type { Notice } from "./notice.ts";

/** An Event to record on one Pod. noteReported() keeps it from being recorded twice. */
export interface PodReport extends Notice {
  readonly pod: { readonly name: string; readonly uid: string };
  /** What is reported. The Event is recorded again when it changes. */
  readonly text: string;
}

export function wasReported({ reported }: Group, uid: string, reason: EventReason, text: string): boolean {
  return reported.get(uid)?.get(reason) === text;
}
