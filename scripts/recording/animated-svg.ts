// A recording of a terminal as an animated SVG, which a README can show without a player. It scrolls like a terminal
// and begins again at its end. Readers who prefer no motion see the last screen. Pure.
import type { Color, Recording, Span } from "./terminal.ts";

interface Screen {
  readonly columns: number;
  readonly rows: number;
  readonly title: string;
  /** Seconds that the last screen stays. */
  readonly rest: number;
}

const CELL = { width: 7.8, height: 17, font: 13 } as const;
const MARGIN = 14;
const FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace";

/** On the dark page, with a contrast of at least 4.5 to 1. */
const PALETTE: Readonly<Record<Color, string>> = {
  black: "#8b949e",
  red: "#ff7b72",
  green: "#3fb950",
  yellow: "#e3b341",
  blue: "#79c0ff",
  magenta: "#d2a8ff",
  cyan: "#56d4dd",
  white: "#e6edf3",
};

export function animatedSvg({ versions, reached }: Recording, { columns, rows, title, rest }: Screen): string {
  const end = Math.max(...reached, ...versions.flatMap(({ from, to = from }) => [from, to]));
  const total = end + rest;
  const share = (at: number) => `${((100 * at) / total).toFixed(2)}%`;
  const width = Math.ceil(columns * CELL.width + 2 * MARGIN);
  const height = rows * CELL.height + 2 * MARGIN;
  const names = new Map<string, string>();
  const rules: string[] = [];
  const texts = versions.map(({ line, from, to, spans }) => {
    const frames = `0%{visibility:${from === 0 ? "visible" : "hidden"}}${share(from)}{visibility:visible}${
      to === undefined ? "" : `${share(to)}{visibility:hidden}`
    }`;
    const name = names.get(frames) ?? `v${names.size}`;
    if (!names.has(frames)) rules.push(`@keyframes ${name}{${frames}}.${name}{animation-name:${name}}`);
    names.set(frames, name);
    const look = to === undefined ? name : `${name} gone`;
    const y = line * CELL.height + CELL.font;
    const parts = spans.map((span, index) => tspan(span, columnOf(spans, index))).join("");
    return `<text class="${look}" y="${y}">${parts}</text>`;
  });
  const scrolls = scrollSteps(reached, rows);
  const last = scrolls.at(-1)?.lines ?? 0;
  const steps = scrolls.map(({ at, lines }) => `${share(at)}{transform:translateY(-${lines * CELL.height}px)}`);
  const style = [
    `text{font:${CELL.font}px ${FONTS};fill:${PALETTE.white};white-space:pre}`,
    ".b{font-weight:700}.gone{visibility:hidden}",
    `text,#page{animation:${total.toFixed(1)}s step-end infinite}`,
    `@keyframes scroll{0%{transform:none}${steps.join("")}}`,
    `#page{animation-name:scroll;transform:translateY(-${last * CELL.height}px)}`,
    ...rules,
    // What stays is visible, what is gone is not, and the page is scrolled to its end.
    "@media (prefers-reduced-motion:reduce){text,#page{animation:none}}",
  ].join("\n");
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>\n${style}\n</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>`,
    // What has scrolled away must not be seen.
    `<clipPath id="screen"><rect width="${width}" height="${rows * CELL.height}"/></clipPath>`,
    `<g transform="translate(0 ${MARGIN})" clip-path="url(#screen)"><g id="page">`,
    ...texts,
    "</g></g>",
    "</svg>\n",
  ].join("\n");
}

/** Lines that have left the screen at the top, and since when. */
function scrollSteps(reached: readonly number[], rows: number): readonly { at: number; lines: number }[] {
  const steps: { at: number; lines: number }[] = [];
  for (const [line, at = 0] of reached.entries()) {
    const lines = line - rows + 1;
    if (lines <= 0) continue;
    if (steps.at(-1)?.at === at) steps.pop();
    steps.push({ at, lines });
  }
  return steps;
}

function columnOf(spans: readonly Span[], index: number): number {
  return spans.slice(0, index).reduce((sum, { text }) => sum + [...text].length, 0);
}

/** Each has its place, so that another font does not move the columns. */
function tspan({ text, style }: Span, column: number): string {
  const fill = style.color === undefined ? "" : ` fill="${PALETTE[style.color]}"`;
  const bold = style.bold === true ? ' class="b"' : "";
  const length = ([...text].length * CELL.width).toFixed(1);
  const x = (MARGIN + column * CELL.width).toFixed(1);
  const place = `x="${x}" textLength="${length}" lengthAdjust="spacingAndGlyphs"`;
  return `<tspan ${place}${fill}${bold}>${escaped(text)}</tspan>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
