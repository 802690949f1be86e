// The unified diff of two texts, as `patch` reads it. Pure.

interface Line {
  readonly kind: " " | "-" | "+";
  readonly text: string;
}

const CONTEXT = 3;

/** More changes are printed as one block: the search takes 16 MB at this size and grows with its square. */
const MAX_CHANGES = 2_000;

/** The lines of the diff with its header. Empty if the texts are equal. */
export function unifiedDiff(before: string, after: string, names: readonly [string, string]): string[] {
  if (before === after) return [];
  const lines = compare(split(before), split(after));
  return [`--- ${names[0]}`, `+++ ${names[1]}`, ...hunks(lines)];
}

/** Marks a last line without a newline, as `patch` expects. */
function split(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  else lines.push(`${lines.pop()}\n\\ No newline at end of file`);
  return lines;
}

function compare(before: readonly string[], after: readonly string[]): Line[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  const rest = Math.min(before.length, after.length) - head;
  while (tail < rest && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const as = (kind: Line["kind"]) => (text: string) => ({ kind, text });
  const old = before.slice(head, before.length - tail);
  const fresh = after.slice(head, after.length - tail);
  return [
    ...before.slice(0, head).map(as(" ")),
    ...(shortest(old, fresh) ?? [...old.map(as("-")), ...fresh.map(as("+"))]),
    ...before.slice(before.length - tail).map(as(" ")),
  ];
}

/** The furthest old line on each diagonal (old line - new line) with the changes so far. */
class Reach {
  readonly #far: Int32Array;

  constructor(size: number) {
    this.#far = new Int32Array(2 * size + 1);
  }

  get(diagonal: number): number {
    return this.#far[diagonal + (this.#far.length - 1) / 2] ?? 0;
  }

  set(diagonal: number, far: number): void {
    this.#far[diagonal + (this.#far.length - 1) / 2] = far;
  }
}

/** Myers' greedy algorithm. */
function shortest(before: readonly string[], after: readonly string[]): Line[] | undefined {
  const trace: Reach[] = [];
  let reach = new Reach(1);
  for (let changes = 0; changes <= Math.min(before.length + after.length, MAX_CHANGES); changes++) {
    trace.push(reach);
    const next = new Reach(changes + 1);
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      let x = startOf(reach, diagonal, changes);
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x++;
      next.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return walkBack(trace, before, after);
    }
    reach = next;
  }
  return undefined;
}

function startOf(reach: Reach, diagonal: number, changes: number): number {
  return comesDown(reach, diagonal, changes) ? reach.get(diagonal + 1) : reach.get(diagonal - 1) + 1;
}

function comesDown(reach: Reach, diagonal: number, changes: number): boolean {
  if (diagonal === -changes) return true;
  return diagonal !== changes && reach.get(diagonal - 1) < reach.get(diagonal + 1);
}

function walkBack(trace: readonly Reach[], before: readonly string[], after: readonly string[]): Line[] {
  const lines: Line[] = [];
  let [x, y] = [before.length, after.length];
  for (const [changes, reach] of [...trace.entries()].reverse()) {
    const diagonal = x - y;
    const start = startOf(reach, diagonal, changes);
    const isAdded = comesDown(reach, diagonal, changes);
    while (x > start && y > start - diagonal) {
      lines.push({ kind: " ", text: before[--x] ?? "" });
      y--;
    }
    if (changes === 0) break;
    if (isAdded) lines.push({ kind: "+", text: after[--y] ?? "" });
    else lines.push({ kind: "-", text: before[--x] ?? "" });
  }
  return lines.reverse();
}

function hunks(lines: readonly Line[]): string[] {
  const shown = new Set<number>();
  for (const [index, { kind }] of lines.entries()) {
    if (kind === " ") continue;
    for (let near = index - CONTEXT; near <= index + CONTEXT; near++) shown.add(near);
  }
  const printed: string[] = [];
  let [old, fresh] = [1, 1];
  for (let index = 0; index < lines.length; ) {
    if (!shown.has(index)) {
      index++;
      old++;
      fresh++;
      continue;
    }
    let end = index;
    while (end < lines.length && shown.has(end)) end++;
    const hunk = lines.slice(index, end);
    const olds = hunk.filter(({ kind }) => kind !== "+").length;
    const news = hunk.filter(({ kind }) => kind !== "-").length;
    printed.push(`@@ -${range(old, olds)} +${range(fresh, news)} @@`);
    printed.push(...hunk.map(({ kind, text }) => `${kind}${text}`));
    old += olds;
    fresh += news;
    index = end;
  }
  return printed;
}

/** An empty range is given by the line before it. */
function range(start: number, count: number): string {
  if (count === 1) return `${start}`;
  return count === 0 ? `${start - 1},0` : `${start},${count}`;
}
