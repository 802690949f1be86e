// Draws the measurements as SVG, so that the picture in the README comes from the same run as the figures.

import type { Lane, Recovery } from "../../scripts/recovery/observe.ts";
import { median, quantile } from "../quantile.ts";
import { COLOUR, circle, line, rectangle, svg, text, WIDTH } from "../svg.ts";
import { CONTENDERS, type Contender, TITLES } from "./contenders.ts";

type Recoveries = Readonly<Record<Contender, readonly Recovery[]>>;

const LEFT = 20;
const RIGHT = 70;
const LANE_HEIGHT = 14;
const LANE_GAP = 4;
const LEGEND = [
  ["worker runs", COLOUR.running],
  ["worker ended, its Pod restarts or is replaced", COLOUR.down],
  ["waits for the others", COLOUR.waiting],
] as const;

/** The median recovery of each contender, with one row per worker, the killed one first. */
export function drawTimeline(recoveries: Recoveries): string {
  const typical = CONTENDERS.map((contender) => ({ contender, recovery: middle(recoveries[contender]) }));
  // Seconds before the kill and after the last recovery, to show the workers running.
  const [before, after] = [0.5, 0.6];
  const end = Math.max(...typical.map(({ recovery }) => recovery.seconds)) + after;
  const x = (seconds: number) => LEFT + ((seconds + before) / (end + before)) * (WIDTH - LEFT - RIGHT);
  const parts: string[] = [];
  let y = 52;
  for (const { contender, recovery } of typical) {
    const made = recovery.newPods === 0 ? "no new Pod" : `${recovery.newPods} new Pods`;
    parts.push(text(LEFT, y, `${TITLES[contender]}: ${recovery.seconds.toFixed(1)} s, ${made}`, { bold: true }));
    y += 8;
    for (const lane of recovery.lanes) {
      parts.push(...drawLane(lane, y, x, before, end));
      y += LANE_HEIGHT + LANE_GAP;
    }
    y += 26;
  }
  const axis = y - 18;
  for (let second = 0; second <= end; second++) {
    parts.push(line(x(second), 56, x(second), axis, COLOUR.faint, "2 4"));
    parts.push(text(x(second), axis + 14, second === 0 ? "kill" : `${second} s`, { anchor: "middle" }));
  }
  let at = LEFT;
  for (const [label, color] of LEGEND) {
    parts.push(rectangle(at, 14, 12, 12, color), text(at + 18, 24, label));
    at += 40 + label.length * 6.6;
  }
  return svg(axis + 28, parts, "A worker is killed: how the group comes back, typical runs");
}

function drawLane(lane: Lane, y: number, x: (seconds: number) => number, before: number, end: number): string[] {
  const bar = (from: number, to: number, color: string) =>
    to > from ? [rectangle(x(from), y, x(to) - x(from), LANE_HEIGHT, color)] : [];
  return [
    ...bar(-before, lane.down, COLOUR.running),
    ...bar(lane.down, lane.back, COLOUR.down),
    ...bar(Math.max(lane.back, lane.down), lane.up, COLOUR.waiting),
    ...bar(lane.up, end, COLOUR.running),
  ];
}

/** Every recovery as a dot, with median and p90. */
export function drawDistribution(pods: number, recoveries: Recoveries): string {
  const end = Math.ceil(Math.max(...CONTENDERS.flatMap((each) => recoveries[each].map(({ seconds }) => seconds))));
  const x = (seconds: number) => LEFT + (seconds / end) * (WIDTH - LEFT - RIGHT);
  const parts: string[] = [];
  let y = 30;
  for (const contender of CONTENDERS) {
    const seconds = recoveries[contender].map((recovery) => recovery.seconds);
    const [half, most] = [median(seconds), quantile(seconds, 0.9)];
    const summary = `median ${half.toFixed(2)} s, p90 ${most.toFixed(2)} s, n = ${seconds.length}`;
    parts.push(text(LEFT, y, `${TITLES[contender]}: ${summary}`, { bold: true }));
    // Different heights, so that dots of similar times do not hide each other.
    const dots = seconds.map((each, i) => circle(x(each), y + 14 + (i % 4) * 5));
    parts.push(line(x(half), y + 6, x(half), y + 38, COLOUR.text), line(x(most), y + 6, x(most), y + 38, COLOUR.faint));
    parts.push(...dots);
    y += 62;
  }
  const axis = y - 14;
  for (let second = 0; second <= end; second++) {
    parts.push(line(x(second), 36, x(second), axis, COLOUR.faint, "2 4"));
    parts.push(text(x(second), axis + 14, `${second} s`, { anchor: "middle" }));
  }
  return svg(axis + 28, parts, `Time to recover, ${pods} Pods`);
}

function middle(recoveries: readonly Recovery[]): Recovery {
  const half = median(recoveries.map(({ seconds }) => seconds));
  const distance = ({ seconds }: Recovery) => Math.abs(seconds - half);
  return recoveries.reduce((best, each) => (distance(each) < distance(best) ? each : best));
}
