// Draws how both sides grow with the size of a group: a straight line at 45 degrees is growth in step with the Pods.
import { COLOUR, circle, line, svg, text, WIDTH } from "../svg.ts";
import { SIDE_TITLES, SIDES, type Side } from "./side.ts";

/** One figure of both sides at each size. */
export interface Series {
  readonly title: string;
  readonly points: readonly ({ readonly pods: number } & Readonly<Record<Side, number>>)[];
}

const TOP = 64;
const HEIGHT = 300;
const GAP = 70;
const COLOURS: Readonly<Record<Side, string>> = { reprise: COLOUR.running, upstream: COLOUR.waiting };

export function drawGrowth(series: readonly Series[]): string {
  const width = (WIDTH - GAP * series.length - 20) / series.length;
  const parts = series.flatMap((each, index) => drawPanel(each, GAP - 20 + index * (width + GAP), width));
  SIDES.forEach((side, index) => {
    const x = GAP - 20 + index * 150;
    parts.push(circle(x, 20, COLOURS[side], 1), text(x + 10, 24, SIDE_TITLES[side]));
  });
  return svg(TOP + HEIGHT + 44, parts, "One restart in place: how time and CPU grow with the group");
}

function drawPanel({ title, points }: Series, left: number, width: number): string[] {
  const pods = points.map((point) => point.pods);
  const values = points.flatMap((point) => SIDES.map((side) => point[side]));
  const decades = {
    low: Math.floor(Math.log10(Math.min(...values))),
    high: Math.ceil(Math.log10(Math.max(...values))),
  };
  const x = (count: number) => left + share(count, Math.min(...pods), Math.max(...pods)) * width;
  const y = (value: number) => TOP + HEIGHT * (1 - share(value, 10 ** decades.low, 10 ** decades.high));
  const parts = [text(left, TOP - 12, title, { bold: true })];
  for (let decade = decades.low; decade <= decades.high; decade++) {
    const at = Math.round(y(10 ** decade));
    parts.push(line(left, at, left + width, at, COLOUR.faint, "2 4"));
    parts.push(text(left - 6, at + 4, String(Number((10 ** decade).toPrecision(1))), { anchor: "end" }));
  }
  for (const count of pods) {
    parts.push(text(x(count), TOP + HEIGHT + 18, count.toLocaleString("en-US"), { anchor: "middle" }));
  }
  parts.push(text(left + width / 2, TOP + HEIGHT + 36, "Pods in the group", { anchor: "middle" }));
  for (const side of SIDES) {
    points.forEach((point, index) => {
      const next = points[index + 1];
      const [px, py] = [x(point.pods), Math.round(y(point[side]))];
      if (next !== undefined) parts.push(line(px, py, x(next.pods), Math.round(y(next[side])), COLOURS[side]));
      // The smaller value below its point, so that two close ones stay readable.
      const other = point[side === "reprise" ? "upstream" : "reprise"];
      const isLower = point[side] < other || (point[side] === other && side === "reprise");
      parts.push(circle(px, py, COLOURS[side], 1));
      parts.push(text(px, py + (isLower ? 18 : -9), label(point[side]), { anchor: "middle" }));
    });
  }
  return parts;
}

function label(value: number): string {
  return value < 10 ? value.toFixed(1) : value.toFixed(0);
}

/** Where a value lies between two others, on a logarithmic scale. */
function share(value: number, low: number, high: number): number {
  return Math.log(value / low) / Math.log(high / low);
}
