// Which of several Pods that failed in one epoch failed first. The peers of a failed rank often exit within
// milliseconds, and their kubelets report in any order, so the order of the reports proves nothing. Pure.
import type { Suspect } from "./suspects.ts";

/** How many other Pods may have failed without a report, and how many are known to have run until they were told. */
interface Others {
  readonly doubtful: number;
  readonly healthy: number;
}

/**
 * Undefined if it is not clear. A code that the user has put into the recreate class wins over the times, because the
 * program may have examined its device before it exited. Otherwise an earlier end wins, then the way it ended.
 */
export function findCulprit(suspects: readonly Suspect[], { doubtful, healthy }: Others): Suspect | undefined {
  if (suspects.some(isRequest)) return findRequested(suspects);
  const first = findFirst(suspects);
  if (first === undefined || doubtful === 0 || isSetApart(first, suspects)) return first;
  // The peers of a failed rank follow it. One that has not shows that this failure is not such a consequence.
  const most = suspects.length === 1 ? Number.POSITIVE_INFINITY : healthy;
  return healthy > 0 && doubtful <= most ? first : undefined;
}

function findFirst(suspects: readonly Suspect[]): Suspect | undefined {
  const first = firstSuspects(suspects);
  // What no report has shown may have ended in any way.
  if (first.length === 1 || first.some(isUnknown)) return only(first);
  const odd = findOdd(suspects);
  return only(first.filter(isOutOfMemory)) ?? only(first.filter(isCrash)) ?? first.find((suspect) => suspect === odd);
}

function isUnknown({ cause, termination }: Suspect): boolean {
  return cause.exitCode === undefined || termination?.agentFailed === true;
}

/** Whether it ended as no other did, and not as a worker ends that has lost a peer. */
function isSetApart(suspect: Suspect, suspects: readonly Suspect[]): boolean {
  const { exitCode } = suspect.cause;
  if (exitCode === undefined || suspects.some((each) => each !== suspect && each.cause.exitCode === exitCode))
    return isOutOfMemory(suspect);
  return isOutOfMemory(suspect) || (exitCode !== GENERIC && !INFECTIOUS.has(exitCode));
}

/** The one Pod whose exit code requests a new Pod. */
export function findRequested(suspects: readonly Suspect[]): Suspect | undefined {
  return only(suspects.filter(isRequest));
}

function isRequest({ requestedAction }: Pick<Suspect, "requestedAction">): boolean {
  return requestedAction === "recreate";
}

/** Who may be to blame if it is not known who is: those that request a new Pod, or else those that ended first. */
export function findCandidates(suspects: readonly Suspect[]): readonly Suspect[] {
  const requested = suspects.filter(isRequest);
  return requested.length > 0 ? requested : firstSuspects(suspects);
}

/** Those that no other surely preceded, the earliest first. */
function firstSuspects(suspects: readonly Suspect[]): readonly Suspect[] {
  const earliest = Math.min(...suspects.map(endOf));
  const earliestOn = new Map<string, number>();
  for (const suspect of suspects) {
    const node = suspect.termination?.node;
    if (node !== undefined) earliestOn.set(node, Math.min(endOf(suspect), earliestOn.get(node) ?? endOf(suspect)));
  }
  const isPreceded = (suspect: Suspect): boolean => {
    const end = suspect.termination?.finishedAt === undefined ? Number.NEGATIVE_INFINITY : endOf(suspect);
    const onNode = earliestOn.get(suspect.termination?.node ?? "") ?? end;
    return end - earliest >= MARGIN_MS.otherNode || end - onNode >= MARGIN_MS.sameNode;
  };
  return suspects.filter((suspect) => !isPreceded(suspect)).toSorted((a, b) => endOf(a) - endOf(b));
}

/** The kubelet reports whole seconds, cut off alike on one node; the clocks of two nodes differ a little. */
const MARGIN_MS = { sameNode: 1_000, otherNode: 2_000 } as const;

function endOf({ termination }: Suspect): number {
  const { finishedAt = Number.MAX_SAFE_INTEGER, agentFinishedAt = finishedAt, agentFailed } = termination ?? {};
  return agentFailed === true ? Math.min(finishedAt, agentFinishedAt) : finishedAt;
}

function isOutOfMemory({ termination }: Suspect): boolean {
  return termination?.reason === "OOMKilled";
}

/** Signals that a process gets for what it did itself, or a kill from outside. A lost peer causes none of them. */
const CRASHES: ReadonlySet<number> = new Set([
  132, // illegal instruction
  135, // bus error
  136, // arithmetic error
  137, // kill
  139, // segmentation fault
]);

function isCrash({ cause }: Suspect): boolean {
  return cause.exitCode !== undefined && CRASHES.has(cause.exitCode);
}

/** How a healthy worker may end when others fail or stop, so that such a code sets no Pod apart. */
const INFECTIOUS: ReadonlySet<number> = new Set([
  130, // interrupt
  134, // abort: NCCL's watchdog ends healthy ranks with it
  141, // broken pipe
  143, // termination
]);

/** What an unhandled exception exits with, such as that of a lost connection. */
const GENERIC = 1;

/** The one Pod whose exit code differs from the one that all others share. */
function findOdd(suspects: readonly Suspect[]): Suspect | undefined {
  const [a, b, c] = suspects.map(({ cause }) => cause.exitCode);
  // Of three, the common code is the one that two of them have. Of two, only the generic one is known to be common.
  const common = suspects.length < 3 ? GENERIC : a === b || a === c ? a : b;
  const odd = only(suspects.filter(({ cause }) => cause.exitCode !== common));
  const code = odd?.cause.exitCode;
  if (common === undefined || code === undefined) return undefined;
  return CRASHES.has(common) || INFECTIOUS.has(code) ? undefined : odd;
}

function only<T>(items: readonly T[]): T | undefined {
  return items.length === 1 ? items[0] : undefined;
}
