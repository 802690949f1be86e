// The grid of Pods on a canvas. Each state has a shape and a color. A change redraws the cells of the Pods that have
// changed, and nothing else, at most once per frame: a grid of 10,000 stays usable while all of them restart.
import { POD_STATES, type PodState } from "../view/wire.ts";
import { STATE_WORDS } from "./format.ts";
import { LABEL_HEIGHT, type Layout, layOut, moved, placeOf, podAt } from "./grid-layout.ts";
import type { PodCell, Pods } from "./pods.ts";

export type ColorBy = "state" | "epoch";

const EPOCH_COLORS = 6;

/** To look sprites up by number: text would be put together 10,000 times in a frame. */
const STATE_NUMBERS = Object.fromEntries(POD_STATES.map((state, at) => [state, at])) as Record<PodState, number>;

/** Cells that a frame has time for, beside what else happens in it. */
const CELLS_PER_FRAME = 4_000;

/** Share of the window's height that the grid may take before its cells become smaller. */
const WANTED_SHARE = 0.7;

/** The pixels of a cell, four bytes each. */
interface Sprite {
  readonly side: number;
  readonly pixels: Uint32Array;
}

export class Grid {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #pods: Pods;
  readonly #onSelect: (cell: PodCell | undefined) => void;
  readonly #sprites = new Map<number, Sprite>();
  readonly #changed = new Set<PodCell>();
  #layout: Layout = layOut([], 1, 1);
  /** What the canvas shows, without the names of stages and the mark of the selected Pod. */
  #pixels = new ImageData(1, 1);
  #all = true;
  #frame: number | undefined;
  #colorBy: ColorBy = "state";
  /** By its ID, because positions change. */
  #selected: number | undefined;

  constructor(
    place: HTMLElement,
    canvas: HTMLCanvasElement,
    pods: Pods,
    onSelect: (cell: PodCell | undefined) => void,
  ) {
    const context = canvas.getContext("2d");
    if (context === null) throw new Error("this browser cannot draw on a canvas");
    this.#canvas = canvas;
    this.#context = context;
    this.#pods = pods;
    this.#onSelect = onSelect;
    place.addEventListener("keydown", (event) => this.#pressed(event));
    canvas.addEventListener("pointerdown", (event) => this.#pointed(event));
    new ResizeObserver(() => this.redraw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#recolor());
  }

  colorBy(scheme: ColorBy): void {
    this.#colorBy = scheme;
    this.redraw();
  }

  get selected(): PodCell | undefined {
    return this.#selected === undefined ? undefined : this.#pods.ordered.find(({ id }) => id === this.#selected);
  }

  select(cell: PodCell | undefined): void {
    const before = this.selected;
    this.#selected = cell?.id;
    for (const each of [before, cell]) if (each !== undefined) this.#changed.add(each);
    this.#schedule();
    this.#onSelect(cell);
  }

  /** Draws everything again with the next frame. */
  redraw(): void {
    this.#all = true;
    this.#schedule();
  }

  changed(cells: readonly PodCell[]): void {
    for (const cell of cells) this.#changed.add(cell);
    this.#schedule();
  }

  #schedule(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#draw();
    });
  }

  #draw(): void {
    const cells = this.#due();
    if (this.#all) this.#prepare();
    this.#all = false;
    if (this.#changed.size > 0) this.#schedule();
    const { stages } = this.#layout;
    let drawn = 0;
    for (const stage of stages) {
      const from = drawn;
      while (drawn < cells.length && (cells[drawn]?.position ?? 0) < stage.first + stage.count) drawn += 1;
      if (drawn > from) this.#drawStage(cells.slice(from, drawn), stage);
    }
    this.#mark();
    this.#canvas.setAttribute("aria-label", this.#summary());
  }

  /** The cells of this frame, in order. More than it has time for wait for the next one. */
  #due(): readonly PodCell[] {
    const { ordered } = this.#pods;
    if (this.#all) this.#changed.clear();
    if (this.#all) return ordered;
    // Looking at all is faster than sorting many.
    const isMany = this.#changed.size > ordered.length / 8;
    const sorted = isMany
      ? ordered.filter((cell) => this.#changed.has(cell))
      : [...this.#changed].sort((a, b) => a.position - b.position);
    const due = sorted.slice(0, CELLS_PER_FRAME);
    if (due.length === sorted.length) this.#changed.clear();
    else for (const cell of due) this.#changed.delete(cell);
    return due;
  }

  /**
   * Cells of one stage, in order. They go to the canvas with one call instead of thousands. The loops are plain,
   * because they run 10,000 times in a frame.
   */
  #drawStage(cells: readonly PodCell[], { first, top }: Layout["stages"][number]): void {
    const { width } = this.#pixels;
    const pixels = new Uint32Array(this.#pixels.data.buffer);
    const { columns, pitch } = this.#layout;
    const ratio = devicePixelRatio;
    let [highest, lowest] = [Number.POSITIVE_INFINITY, 0];
    for (const cell of cells) {
      const { side, pixels: sprite } = this.#sprite(cell);
      const offset = cell.position - first;
      const x = Math.floor((offset % columns) * pitch * ratio);
      const y = Math.floor((top + LABEL_HEIGHT + Math.floor(offset / columns) * pitch) * ratio);
      let from = 0;
      for (let row = 0; row < side; row += 1) {
        const start = (y + row) * width + x;
        for (let column = 0; column < side; column += 1) pixels[start + column] = sprite[from++] ?? 0;
      }
      highest = Math.min(highest, y);
      lowest = Math.max(lowest, y + side);
    }
    this.#context.putImageData(this.#pixels, 0, 0, 0, highest, width, lowest - highest);
  }

  /** Lays the grid out, clears it and writes the names of the stages. */
  #prepare(): void {
    const width = this.#canvas.clientWidth;
    const ratio = devicePixelRatio;
    this.#layout = layOut(this.#pods.stages, width, innerHeight * WANTED_SHARE);
    const { height, stages } = this.#layout;
    const [pixels, rows] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.#canvas.width !== pixels || this.#canvas.height !== rows) {
      this.#canvas.width = pixels;
      this.#canvas.height = rows;
      this.#canvas.style.height = `${height}px`;
    }
    this.#sprites.clear();
    this.#pixels = new ImageData(Math.max(1, pixels), Math.max(1, rows));
    this.#context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#context.clearRect(0, 0, width, height);
    this.#context.fillStyle = colorOf("--faint");
    this.#context.font = `13px ${getComputedStyle(this.#canvas).fontFamily}`;
    this.#context.textBaseline = "middle";
    for (const { name, count, top } of stages) {
      this.#context.fillText(`${name} (${count})`, 0, top + LABEL_HEIGHT / 2, width);
    }
  }

  /** A frame around the selected Pod, inside of its cell, so that it disappears when the cell is drawn again. */
  #mark(): void {
    const cell = this.selected;
    if (cell === undefined) return;
    const { x, y } = placeOf(this.#layout, cell.position);
    const side = this.#layout.cell;
    const width = Math.max(1, Math.min(3, side / 5));
    this.#context.lineWidth = width;
    this.#context.strokeStyle = colorOf("--text");
    this.#context.strokeRect(x + width / 2, y + width / 2, side - width, side - width);
  }

  #sprite({ state, epoch }: PodCell): Sprite {
    const byEpoch = this.#colorBy === "epoch" && epoch >= 0 ? (epoch % EPOCH_COLORS) + 1 : 0;
    const key = STATE_NUMBERS[state] * (EPOCH_COLORS + 1) + byEpoch;
    const known = this.#sprites.get(key);
    if (known !== undefined) return known;
    const color = byEpoch === 0 ? `--${state}` : `--epoch-${byEpoch - 1}`;
    // Rounded down, so that a cell never reaches into the next one or beyond the canvas.
    const canvas = drawSprite(state, colorOf(color), Math.floor(this.#layout.cell * devicePixelRatio));
    const { width: side } = canvas;
    const data = canvas.getContext("2d")?.getImageData(0, 0, side, side).data ?? new Uint8ClampedArray(side * side * 4);
    const sprite: Sprite = { side, pixels: new Uint32Array(data.buffer) };
    this.#sprites.set(key, sprite);
    return sprite;
  }

  #recolor(): void {
    this.#sprites.clear();
    this.redraw();
  }

  #pressed(event: KeyboardEvent): void {
    const { ordered } = this.#pods;
    const from = this.selected?.position;
    const to = moved(this.#layout, ordered.length, from ?? 0, event.key);
    if (to === undefined || ordered.length === 0) return;
    event.preventDefault();
    // The first arrow key selects the first Pod.
    this.select(ordered[from === undefined && event.key !== "End" ? 0 : to]);
  }

  #pointed(event: PointerEvent): void {
    const position = podAt(this.#layout, event.offsetX, event.offsetY);
    this.select(position === undefined ? undefined : this.#pods.ordered[position]);
  }

  #summary(): string {
    const counts = [...this.#pods.countByState()].map(([state, count]) => `${count} ${STATE_WORDS[state]}`);
    return `${this.#pods.ordered.length} Pods: ${counts.join(", ")}`;
  }
}

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}

/** One cell: the shape tells the state without the color. `side` in real pixels. */
export function drawSprite(state: PodState, color: string, side: number): HTMLCanvasElement {
  const sprite = document.createElement("canvas");
  sprite.width = Math.max(1, Math.round(side));
  sprite.height = sprite.width;
  const context = sprite.getContext("2d");
  if (context === null) return sprite;
  const s = sprite.width;
  context.fillStyle = color;
  context.strokeStyle = color;
  context.lineWidth = Math.max(1, s / 6);
  SHAPES[state](context, s);
  return sprite;
}

type Draw = (context: CanvasRenderingContext2D, side: number) => void;

const full: Draw = (context, s) => context.fillRect(0, 0, s, s);

const frame: Draw = (context, s) => {
  const half = context.lineWidth / 2;
  context.strokeRect(half, half, s - 2 * half, s - 2 * half);
};

/** Lines that are cut out of what was drawn before. */
const cut: (...lines: readonly (readonly [number, number, number, number])[]) => Draw =
  (...lines) =>
  (context, s) => {
    context.globalCompositeOperation = "destination-out";
    context.beginPath();
    for (const [x1, y1, x2, y2] of lines) {
      context.moveTo(x1 * s, y1 * s);
      context.lineTo(x2 * s, y2 * s);
    }
    context.stroke();
  };

const both: (first: Draw, second: Draw) => Draw = (first, second) => (context, s) => {
  first(context, s);
  second(context, s);
};

const SHAPES: Readonly<Record<PodState, Draw>> = {
  running: full,
  starting: both(frame, (context, s) => context.fillRect(0, s / 2, s, s / 2)),
  barrier: both(full, cut([0.15, 0.5, 0.85, 0.5])),
  restarting: (context, s) => {
    context.beginPath();
    context.moveTo(0, 0);
    context.lineTo(s, s);
    context.lineTo(0, s);
    context.fill();
  },
  pending: frame,
  failed: both(full, cut([0.15, 0.15, 0.85, 0.85], [0.15, 0.85, 0.85, 0.15])),
  terminating: both(frame, (context, s) => {
    context.beginPath();
    context.moveTo(0, s);
    context.lineTo(s, 0);
    context.stroke();
  }),
  succeeded: (context, s) => {
    context.beginPath();
    context.arc(s / 2, s / 2, s / 2.4, 0, 2 * Math.PI);
    context.fill();
  },
};
