// What failures cost a training job, from the steps that it recorded. Pure.
import type { Step } from "../../test/ecosystem/training-example.ts";
import { median } from "../quantile.ts";
import { CONTENDERS, type Contender } from "../recovery/contenders.ts";

export interface Failure {
  /** When a rank was killed, in seconds since 1970. */
  readonly at: number;
  /** Until the first step of the next run. */
  readonly seconds: number;
}

/** All jobs of one framework, between the same two times in seconds since 1970. */
export interface Measured {
  readonly from: number;
  readonly to: number;
  readonly failures: Readonly<Record<Contender, readonly Failure[]>>;
  readonly steps: Readonly<Record<Contender, readonly Step[]>>;
}

/** `new`: steps that were not made before. `again`: steps since the last checkpoint. `none`: no step was made. */
export interface Interval {
  readonly kind: "new" | "again" | "none";
  readonly from: number;
  readonly to: number;
}

/** What the job did, one interval per step and one per gap between two runs. */
export function intervalsOf({ from, to, steps }: Measured, contender: Contender): readonly Interval[] {
  let reached = 0;
  let before: Step | undefined;
  const intervals: Interval[] = [];
  for (const step of steps[contender]) {
    if (before !== undefined) {
      const made = step.step > reached ? "new" : "again";
      const kind = step.started === before.started ? made : "none";
      intervals.push({ kind, from: Math.max(from, before.time), to: Math.min(to, step.time) });
    }
    reached = Math.max(reached, step.step);
    before = step;
  }
  return intervals.filter((interval) => interval.to > interval.from);
}

/** The time of one step of a job that no failure disturbs. */
export function stepSeconds({ steps }: Pick<Measured, "steps">): number {
  const times = CONTENDERS.flatMap((contender) =>
    steps[contender].flatMap((step, index, all) => {
      const before = all[index - 1];
      return before?.started === step.started ? [step.time - before.time] : [];
    }),
  );
  return median(times);
}

/** New steps, times what a step takes, as a share of the whole time. */
export function shareTrained(measured: Measured, contender: Contender): number {
  const { from, to, steps } = measured;
  const reachedBy = (time: number) =>
    steps[contender].reduce((most, step) => (step.time <= time ? Math.max(most, step.step) : most), 0);
  return ((reachedBy(to) - reachedBy(from)) * stepSeconds(measured)) / (to - from);
}
