// What the selected group has spent its time on since its account was opened, and what has interrupted it.
import type { Tally, TimedState } from "../../api/availability.ts";
import { availabilityFigures, suspectNodes } from "../../api/availability-figures.ts";
import type { Account } from "../view/wire.ts";
import { element, find } from "./dom.ts";
import { duration, percent, suspectText } from "./format.ts";

const STATE_TEXTS: Readonly<Record<TimedState, string>> = {
  Running: "running",
  Restarting: "restarting",
  Waiting: "waiting for Pods",
  Suspended: "suspended",
};

export function showAvailability(account: Account | undefined, now: number): void {
  const place = find("availability", HTMLDivElement);
  if (account === undefined) {
    place.replaceChildren(element("p", { class: "faint" }, "The controller has not opened an account yet."));
    return;
  }
  const { seconds, share, interruptions, mtbfSeconds, mttrSeconds } = availabilityFigures(account, account.isOpen, now);
  const states = (Object.keys(STATE_TEXTS) as TimedState[]).filter((state) => seconds[state] > 0);
  const facts: readonly (readonly [string, string])[] = [
    ["Available", share === undefined ? "–" : percent(share)],
    ["Restarts so far", String(interruptions)],
    ...(mtbfSeconds === undefined ? [] : [["MTBF", duration(mtbfSeconds)] as const]),
    ...(mttrSeconds === undefined ? [] : [["MTTR", duration(mttrSeconds)] as const]),
    ...tallyFact("By cause", account.causes),
    ...tallyFact("By blamed Pod", account.blamedPods),
    ...tallyFact("By node", account.blamedNodes),
  ];
  place.replaceChildren(
    timeBar(states, seconds),
    element("ol", { class: "steps" }, ...states.map((state) => stateItem(state, seconds[state]))),
    element(
      "dl",
      { class: "facts" },
      ...facts.map(([name, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, text))),
    ),
    ...suspectNodes([account]).map((node) => element("p", { class: "wait" }, suspectText(node))),
  );
}

function timeBar(states: readonly TimedState[], seconds: Readonly<Record<TimedState, number>>): HTMLElement {
  const made = element("div", { class: "bar" });
  made.setAttribute("aria-hidden", "true");
  const total = states.reduce((sum, state) => sum + seconds[state], 0);
  for (const state of states) {
    const part = element("span", { class: `time-${state}` });
    // In percent: shares that add up to less than 1 would leave a part of the bar empty.
    part.style.flexGrow = String((100 * seconds[state]) / total);
    made.append(part);
  }
  return made;
}

function stateItem(state: TimedState, seconds: number): HTMLElement {
  return element(
    "li",
    {},
    element("span", { class: `swatch time-${state}` }),
    `${STATE_TEXTS[state]}: ${duration(seconds)}`,
  );
}

function tallyFact(title: string, tallies: readonly Tally[]): readonly (readonly [string, string])[] {
  if (tallies.length === 0) return [];
  return [[title, tallies.map(({ name, restarts }) => `${name}: ${restarts}`).join(", ")]];
}
