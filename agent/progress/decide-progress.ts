// Whether the worker of this Pod makes progress: a pure function of what a reader has seen so far, and when. It must
// never take for a hang what it cannot see: only a mark that was read, and stays the same, is evidence.

/** What a reader has seen of the worker. */
export type Sighting =
  /** `mark` changes with each sign of progress. */
  | { readonly kind: "seen"; readonly mark: string; readonly step?: number; readonly rank?: number }
  /** The worker has not created it. */
  | { readonly kind: "absent" }
  | { readonly kind: "unreadable"; readonly reason: string };

/** In milliseconds. */
export interface HangLimits {
  /** `learned`: a multiple of the longest pause so far. */
  readonly hangAfter: number | "learned";
  /** How long a worker may take until its first sign of progress. Without one, it is never expected. */
  readonly startDeadline?: number;
}

/** `mono` is monotonic, `wall` counts from 1970. In milliseconds. */
export interface Time {
  readonly mono: number;
  readonly wall: number;
}

export interface Progress {
  /** What was there before the worker started, or what it has shown last. Undefined until something was read. */
  readonly mark: string | undefined;
  /** Whether the worker has shown progress in this epoch. */
  readonly armed: boolean;
  readonly readable: boolean;
  readonly lastLook: number;
  /** How long the mark has stayed the same, or no progress was seen at all. */
  readonly stalledMs: number;
  /** The longest pause between two signs of progress. */
  readonly longestMs: number;
  /** The clock time of the last sign of progress, or of the start. */
  readonly since: number;
  readonly step?: number;
  readonly rank?: number;
}

export type Judgment =
  /** It moves, or nothing is known. */
  | "moving"
  /** It has shown no progress in this epoch, and nothing is expected of it. */
  | "silent"
  | "stopped"
  /** It has shown no progress within the start deadline. */
  | "unstarted";

/**
 * A look that comes later than this after the one before counts no longer: a frozen node or virtual machine freezes its
 * workers too, and a starved agent has starved beside them.
 */
const LONGEST_GAP_MS = 5_000;

/** A file that does not exist has this mark. No other mark is empty. */
const NO_FILE = "";

/**
 * Without a limit of the user: five times the longest pause between two signs of progress so far, but at least ten
 * minutes, PyTorch's own time-out for a collective. A checkpoint that takes four times as long as the last one is
 * still one.
 */
const LEARNED = { factor: 5, leastMs: 600_000 } as const;

/** The worker is about to start. `before`: what earlier runs have left. */
export function startProgress(before: Sighting | undefined, { mono, wall }: Time): Progress {
  return {
    mark: before === undefined || before.kind === "unreadable" ? undefined : markOf(before),
    armed: false,
    readable: true,
    lastLook: mono,
    stalledMs: 0,
    longestMs: 0,
    since: wall,
  };
}

export function look(progress: Progress, sighting: Sighting, { mono, wall }: Time): Progress {
  const gap = Math.min(Math.max(0, mono - progress.lastLook), LONGEST_GAP_MS);
  const looked = { ...progress, lastLook: mono };
  const isGone = sighting.kind === "absent" && progress.armed;
  if (sighting.kind === "unreadable" || isGone) {
    // While nothing is read, a worker that has moved may still move.
    return { ...looked, readable: false, stalledMs: progress.stalledMs + (progress.armed ? 0 : gap) };
  }
  const mark = markOf(sighting);
  const { mark: last = mark } = progress;
  const { step, rank } = sighting.kind === "seen" ? sighting : {};
  if (mark === last) {
    return { ...looked, mark, readable: true, stalledMs: progress.stalledMs + gap };
  }
  return {
    mark,
    armed: true,
    readable: true,
    lastLook: mono,
    stalledMs: 0,
    longestMs: progress.armed ? Math.max(progress.longestMs, progress.stalledMs + gap) : 0,
    since: wall,
    ...(step === undefined ? {} : { step }),
    ...(rank === undefined ? {} : { rank }),
  };
}

export function judge(progress: Progress, limits: HangLimits): Judgment {
  const { armed, readable, stalledMs } = progress;
  const limit = limitOf(progress, limits);
  if (armed) return readable && stalledMs >= limit ? "stopped" : "moving";
  const { startDeadline } = limits;
  if (stalledMs < (startDeadline ?? limit)) return "moving";
  // A worker that may have reported something, which cannot be read, is not late.
  return startDeadline !== undefined && readable ? "unstarted" : "silent";
}

function limitOf({ longestMs }: Progress, { hangAfter }: HangLimits): number {
  return hangAfter === "learned" ? Math.max(LEARNED.leastMs, LEARNED.factor * longestMs) : hangAfter;
}

function markOf(sighting: Exclude<Sighting, { readonly kind: "unreadable" }>): string {
  return sighting.kind === "seen" ? sighting.mark : NO_FILE;
}
