// Where the time of a recovery went, step by step. Pure.
import { type RestartView, STEPS, type Step } from "../view/wire.ts";

interface Bar {
  /** The step that ends this part. */
  readonly step: Exclude<Step, "failureSeen">;
  readonly seconds: number;
  /** Whether the step is still to come. */
  readonly open: boolean;
}

export interface Timeline {
  readonly bars: readonly Bar[];
  readonly seconds: number;
  /** Whether the recovery is still going on. */
  readonly open: boolean;
}

/** `now` in milliseconds. A restart that never started its workers again ends with the last step that it reached. */
export function timeline({ steps, action }: RestartView, now: number, isNewest: boolean): Timeline {
  const start = steps.failureSeen;
  if (start === undefined) return { bars: [], seconds: 0, open: false };
  const bars: Bar[] = [];
  let from = start;
  for (const step of STEPS.slice(1) as Exclude<Step, "failureSeen">[]) {
    const to = steps[step];
    if (to !== undefined) {
      bars.push({ step, seconds: Math.max(0, to - from) / 1_000, open: false });
      from = Math.max(from, to);
    } else if (isNewest && action !== "FailJobSet") {
      bars.push({ step, seconds: Math.max(0, now - from) / 1_000, open: true });
      return { bars, seconds: Math.max(0, now - start) / 1_000, open: true };
    } else break;
  }
  return { bars, seconds: (from - start) / 1_000, open: false };
}
