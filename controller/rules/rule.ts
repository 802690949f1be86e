// What a rule of the chain sees, and the step it may take. Pure.
import type { InPlaceRestartStatus, RestartAction } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import type { Group } from "../group/group.ts";
import type { EventReason } from "../status/event-reasons.ts";
import type { Notice } from "../status/notice.ts";

export type Status = InPlaceRestartStatus;

/** One rule of the chain in chain.ts. */
export interface Rule {
  /** Stable: it appears in logs and in the history. */
  readonly name: string;
  /** Why the rule stands where it stands in the chain. */
  readonly why: string;
  /** A step if the rule applies, which ends the chain. A step that changes nothing keeps later rules from acting. */
  readonly apply: (context: Context) => Step | undefined;
}

export interface Context {
  readonly group: Group;
  readonly jobSet: JobSet;
  readonly status: Status;
  /** False for an object without a status; `status` is then empty. */
  readonly isInitialized: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly policy: RestartPolicy;
  /** Name of the rule that is applied, for the history record that it opens or changes. */
  readonly rule: string;
}

export interface Step {
  /** Phase, ready count and most conditions are still the old ones; the summary follows. */
  readonly status: Status;
  readonly notices: readonly Notice[];
  readonly failure?: Failure;
  readonly removal?: Removal;
}

/** Why the JobSet has to fail: reason and message of its condition. */
export interface Failure {
  readonly reason: EventReason;
  readonly message: string;
}

/** A Pod or Job to remove, identified by name and UID. */
export type Removal =
  | { readonly kind: "delete-pod"; readonly pod: ObjectName }
  /** JobSet then applies its own failure policy. */
  | { readonly kind: "fail-job"; readonly job: ObjectName };

interface ObjectName {
  readonly name: string;
  readonly uid: string;
}

/** Each action has its own Event reason, so that alerts can tell them apart. */
const ACTION_REASONS = {
  RestartInPlace: "RestartingInPlace",
  RecreatePod: "RecreatingPod",
  RecreateJobSet: "RecreatingJobSet",
} as const satisfies Readonly<Partial<Record<RestartAction, EventReason>>>;

export function restartNotice(action: keyof typeof ACTION_REASONS, note: string): Notice {
  return { type: "Warning", reason: ACTION_REASONS[action], action: "Restart", note };
}
