// A recovery as it happens: where the time goes, step by step, and how many Pods have reached the next epoch.
import type { RestartView } from "../view/wire.ts";
import { element, find } from "./dom.ts";
import { ago, duration, STEP_WORDS } from "./format.ts";
import { type Timeline, timeline } from "./timeline-bars.ts";

export interface Progress {
  /** Pods of the next epoch. */
  readonly arrived: number;
  readonly all: number;
}

/** Returns whether it is still going on, so that it must be shown again soon. */
export function showRecovery(restart: RestartView | undefined, now: number, progress: Progress): boolean {
  const place = find("recovery", HTMLDivElement);
  if (restart === undefined) {
    place.replaceChildren(element("p", { class: "faint" }, "No restart so far."));
    return false;
  }
  const shown = timeline(restart, now, true);
  const { steps, fromEpoch, toEpoch, cause } = restart;
  const what = shown.open
    ? `Epoch ${fromEpoch} has ended, and epoch ${toEpoch ?? fromEpoch + 1} is about to run: ${duration(shown.seconds)}.`
    : `Epoch ${fromEpoch} to ${toEpoch ?? "?"} in ${duration(shown.seconds)}, ${ago(steps.failureSeen ?? 0, now)}.`;
  place.replaceChildren(
    element("p", {}, what, element("br"), cause),
    bar(shown),
    element("ol", { class: "steps" }, ...shown.bars.map(stepItem)),
    ...(shown.open ? [progressOf(progress, toEpoch ?? fromEpoch + 1)] : []),
  );
  return shown.open;
}

/** The bar of one restart; small ones are in the table. */
export function bar({ bars }: Timeline, isSmall = false): HTMLElement {
  const made = element("div", { class: isSmall ? "bar small" : "bar" });
  made.setAttribute("aria-hidden", "true");
  const total = bars.reduce((sum, { seconds }) => sum + seconds, 0);
  for (const { step, seconds } of bars) {
    const part = element("span", { class: `step-${step}` });
    // In percent: shares that add up to less than 1 would leave a part of the bar empty.
    part.style.flexGrow = String(total === 0 ? 1 : (100 * seconds) / total);
    made.append(part);
  }
  return made;
}

function stepItem({ step, seconds, open }: Timeline["bars"][number]): HTMLElement {
  const swatch = element("span", { class: `swatch step-${step}` });
  const text = `${STEP_WORDS[step]}: ${duration(seconds)}${open ? " so far" : ""}`;
  return element("li", open ? { class: "open" } : {}, swatch, text);
}

function progressOf({ arrived, all }: Progress, epoch: number): HTMLElement {
  const made = element("progress");
  made.max = Math.max(1, all);
  made.value = arrived;
  return element("label", {}, `${arrived} of ${all} Pods have reached epoch ${epoch}`, made);
}
