// Where each Pod of the grid is drawn: stage by stage, row by row, in cells as large as their number allows. Pure.

export interface Stage {
  readonly name: string;
  /** Position of its first Pod among all Pods. */
  readonly first: number;
  readonly count: number;
}

interface PlacedStage extends Stage {
  /** Of its label. */
  readonly top: number;
}

export interface Layout {
  /** Distance from one cell to the next. */
  readonly pitch: number;
  /** Side of a cell. */
  readonly cell: number;
  readonly columns: number;
  readonly height: number;
  readonly stages: readonly PlacedStage[];
}

export const LABEL_HEIGHT = 22;
const GAP_BELOW = 6;

/** From large enough for a finger to small enough for 10,000 Pods on one screen. A shape needs 6 pixels. */
const PITCHES = [26, 22, 18, 15, 12, 10, 8, 7];

/** The largest cells with which the grid still fits into `wanted` pixels of height, else the smallest. */
export function layOut(stages: readonly Stage[], width: number, wanted: number): Layout {
  const layouts = PITCHES.map((pitch) => layOutWith(stages, width, pitch));
  return layouts.find(({ height }) => height <= wanted) ?? layoutWithSmallest(layouts);
}

function layoutWithSmallest(layouts: readonly Layout[]): Layout {
  return layouts.reduce((least, layout) => (layout.pitch < least.pitch ? layout : least));
}

function layOutWith(stages: readonly Stage[], width: number, pitch: number): Layout {
  const columns = Math.max(1, Math.floor(width / pitch));
  const placed: PlacedStage[] = [];
  let top = 0;
  for (const stage of stages) {
    placed.push({ ...stage, top });
    top += LABEL_HEIGHT + Math.ceil(stage.count / columns) * pitch + GAP_BELOW;
  }
  return { pitch, cell: pitch - (pitch > 10 ? 2 : 1), columns, height: top, stages: placed };
}

/** The upper left corner of a Pod's cell. */
export function placeOf({ stages, columns, pitch }: Layout, position: number): { x: number; y: number } {
  const stage = stages.find(({ first, count }) => position >= first && position < first + count);
  if (stage === undefined) return { x: 0, y: 0 };
  const offset = position - stage.first;
  return { x: (offset % columns) * pitch, y: stage.top + LABEL_HEIGHT + Math.floor(offset / columns) * pitch };
}

/** The Pod whose cell is at a point; undefined between cells. */
export function podAt({ stages, columns, pitch }: Layout, x: number, y: number): number | undefined {
  const stage = stages.findLast(({ top }) => y >= top + LABEL_HEIGHT);
  const column = Math.floor(x / pitch);
  if (stage === undefined || column < 0 || column >= columns) return undefined;
  const offset = Math.floor((y - stage.top - LABEL_HEIGHT) / pitch) * columns + column;
  return offset < stage.count ? stage.first + offset : undefined;
}

/** Where a key moves the selection among `count` Pods; undefined for any other key. */
export function moved({ columns }: Layout, count: number, position: number, key: string): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -columns,
    ArrowDown: columns,
    PageUp: -columns * 10,
    PageDown: columns * 10,
  };
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const step = steps[key];
  return step === undefined ? undefined : Math.min(count - 1, Math.max(0, position + step));
}
