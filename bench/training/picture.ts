// Draws what each job did over the whole measurement, one row for each.
import { FRAMEWORKS, type Framework } from "../../test/image/training.ts";
import { median } from "../quantile.ts";
import { CONTENDERS, TITLES } from "../recovery/contenders.ts";
import { COLOUR, line, rectangle, svg, text, WIDTH } from "../svg.ts";
import { type Interval, intervalsOf, type Measured, shareTrained } from "./share.ts";

const LEFT = 20;
const RIGHT = 20;
const ROW_HEIGHT = 18;
const TITLE: Readonly<Record<Framework, string>> = { pytorch: "PyTorch", jax: "JAX" };
const COLOURS: Readonly<Record<Interval["kind"], string>> = {
  new: COLOUR.running,
  again: COLOUR.waiting,
  none: COLOUR.down,
};
const LEGEND = [
  ["trains", COLOURS.new],
  ["repeats steps since the checkpoint", COLOURS.again],
  ["a rank was killed: no step until the job is back", COLOURS.none],
] as const;

export function drawTraining(measured: Readonly<Partial<Record<Framework, Measured>>>): string {
  const parts: string[] = [];
  let at = LEFT;
  for (const [label, color] of LEGEND) {
    parts.push(rectangle(at, 14, 12, 12, color), text(at + 18, 24, label));
    at += 40 + label.length * 6.6;
  }
  let y = 56;
  for (const framework of FRAMEWORKS) {
    const result = measured[framework];
    if (result === undefined) continue;
    parts.push(...drawFramework(framework, result, y));
    y += CONTENDERS.length * (ROW_HEIGHT + 26) + 46;
  }
  return svg(y - 30, parts, "A training job that loses a rank again and again: when it trains, and when it does not");
}

function drawFramework(framework: Framework, measured: Measured, top: number): string[] {
  const { from, to, failures } = measured;
  const x = (time: number) => LEFT + ((time - from) / (to - from)) * (WIDTH - LEFT - RIGHT);
  const parts: string[] = [];
  let y = top;
  for (const contender of CONTENDERS) {
    const half = median(failures[contender].map(({ seconds }) => seconds));
    const share = Math.round(shareTrained(measured, contender) * 100);
    const summary = `${half.toFixed(1)} s from the kill to the next step (median), trains ${share} % of the time`;
    parts.push(text(LEFT, y, `${TITLE[framework]}, ${TITLES[contender]}: ${summary}`, { bold: true }));
    for (const { kind, from: begin, to: end } of joined(intervalsOf(measured, contender))) {
      parts.push(rectangle(x(begin), y + 6, x(end) - x(begin), ROW_HEIGHT, COLOURS[kind]));
    }
    y += ROW_HEIGHT + 26;
  }
  const axis = y - 12;
  parts.push(line(LEFT, axis, WIDTH - RIGHT, axis, COLOUR.faint));
  for (let minute = 0; minute * 60 <= to - from; minute += 1) {
    const place = x(from + minute * 60);
    parts.push(line(place, axis, place, axis + 4, COLOUR.faint));
    parts.push(text(place, axis + 16, `${minute} min`, { anchor: minute === 0 ? "start" : "middle" }));
  }
  return parts;
}

/** Neighbors of one kind become one interval. */
function joined(intervals: readonly Interval[]): readonly Interval[] {
  const result: Interval[] = [];
  for (const interval of intervals) {
    const before = result.at(-1);
    if (before?.kind === interval.kind) result[result.length - 1] = { ...before, to: interval.to };
    else result.push(interval);
  }
  return result;
}
