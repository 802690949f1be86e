// Why a replicatedJob cannot restart in place. Pure data.
import type { LeftOutReason } from "../../api/left-out.ts";

export interface Unsupported {
  readonly rule: LeftOutReason;
  readonly path: string;
  /** What is wrong, after the path. */
  readonly problem: string;
  readonly fix: string;
}
