// An Event to record on the JobSet.
import type { EventReason } from "./event-reasons.ts";

export interface Notice {
  readonly type: "Normal" | "Warning";
  readonly reason: EventReason;
  readonly action: string;
  readonly note: string;
}
