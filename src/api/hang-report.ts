// What an agent reports about the progress of its worker, in the annotation reprise.dev/hang of its own Pod: whole
// numbers only, `epoch/state/since/step/rank` (docs/decisions/0020-hang-detection.md). Pure.

/** By the number that stands for it. No report means that the worker moves, or that nothing is known. */
export const HANG_STATES = ["silent", "stopped", "unstarted"] as const;

/**
 * `silent`: it has not shown progress in this epoch, and nothing is expected of it. `unstarted`: it has shown none
 * within the start deadline.
 */
type HangState = (typeof HANG_STATES)[number];

export interface HangReport {
  readonly epoch: number;
  readonly state: HangState;
  /** When it last made progress, or was started, in milliseconds since 1970 by the clock of its node. */
  readonly since: number;
  readonly step?: number;
  /** Of NCCL. */
  readonly rank?: number;
}

/** Steps above this are not reported: a number holds them exactly. */
export const HIGHEST_STEP = 999_999_999_999_999;

export function formatHangReport({ epoch, state, since, step, rank }: HangReport): string {
  const numbers = [epoch, HANG_STATES.indexOf(state), since];
  if (step !== undefined) numbers.push(step);
  if (step !== undefined && rank !== undefined) numbers.push(rank);
  return numbers.join("/");
}

/** The same as in manifests/agent/policy-pods.yaml. */
const FORM = /^(\d{1,10})\/([0-2])\/(\d{1,15})(?:\/(\d{1,15})(?:\/(\d{1,10}))?)?$/;

/** Undefined for anything but a report: every worker of the Pod may forge one. */
export function readHangReport(annotation: string | undefined): HangReport | undefined {
  const [, epoch, state, since, step, rank] = FORM.exec(annotation ?? "") ?? [];
  const known = HANG_STATES[Number(state)];
  if (known === undefined) return undefined;
  return {
    epoch: Number(epoch),
    state: known,
    since: Number(since),
    ...(step === undefined ? {} : { step: Number(step) }),
    ...(rank === undefined ? {} : { rank: Number(rank) }),
  };
}
