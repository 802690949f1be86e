// The history of restarts in the status. The newest record stays open until its epoch is synced: until then the restart
// may still turn out not to count. Pure.
import {
  HISTORY_LIMIT,
  type InPlaceRestartStatus,
  type RestartCause,
  type RestartRecord,
} from "../../src/api/in-place-restart.ts";

type Status = InPlaceRestartStatus;

/** The restart in progress: its epoch has ended, and the barrier is not lifted yet. */
export function openRecord({ history }: Status): RestartRecord | undefined {
  const last = history.at(-1);
  return last?.synced === undefined ? last : undefined;
}

/** Adds a record, with the rule that decided its action. */
export function withRecord(status: Status, record: RestartRecord & { readonly rule: string }): Status {
  return { ...status, history: [...status.history, record].slice(-HISTORY_LIMIT) };
}

/** Changes the newest record, but not its action. */
export function amendRecord(status: Status, change: Omit<Partial<RestartRecord>, "action" | "rule">): Status {
  return withNewest(status, change);
}

/** Changes the action of the newest record, and with it the rule that decided it. */
export function changeAction(
  status: Status,
  change: Partial<RestartRecord> & Required<Pick<RestartRecord, "action" | "rule">>,
): Status {
  return withNewest(status, change);
}

function withNewest(status: Status, change: Partial<RestartRecord>): Status {
  const last = status.history.at(-1);
  return last === undefined ? status : { ...status, history: [...status.history.slice(0, -1), { ...last, ...change }] };
}

/** Ends the open record. Its list of replaced Pods goes: every write sends the whole history. */
export function closeRecord(
  status: Status,
  { targets: _, ...record }: RestartRecord,
  end: Required<Pick<RestartRecord, "toEpoch" | "allRestarted" | "synced">>,
): Status {
  return { ...status, history: status.history.with(-1, { ...record, ...end }) };
}

/** Drops the open record if it is a deletion: the Pods were deleted because the JobSet was suspended or finished. */
export function withoutDeletion(status: Status): Status {
  return openRecord(status)?.cause.reason === "PodDeleted" ? withoutOpenRecord(status) : status;
}

/** Drops the open record: its restart will not take place. */
export function withoutOpenRecord(status: Status): Status {
  return openRecord(status) === undefined ? status : { ...status, history: status.history.slice(0, -1) };
}

/** For example "Pod train-workers-0-1-abcde: container main exited with code 3". */
export function describeCause(cause: RestartCause): string {
  const { reason, pod, container, exitCode, candidates, request } = cause;
  if (reason === "Hung") return describeHang(cause);
  if (candidates !== undefined) return describeCandidates(candidates, exitCode);
  const exit = container === undefined ? "" : `container ${container} exited with code ${exitCode ?? "unknown"}`;
  const what: Readonly<Record<RestartCause["reason"], string>> = {
    ContainerExited: exit,
    PodRestarted: "restarted",
    PodFailed: exit === "" ? "failed" : `failed, ${exit}`,
    PodDeleted: "was deleted",
    Disruption: "was disrupted",
    StateLost: "the group's InPlaceRestart object was lost",
    Hung: "",
    Requested: `a restart was requested: ${JSON.stringify(request ?? "")}`,
  };
  if (reason === "StateLost" || reason === "Requested") return what[reason];
  return pod === undefined ? `a Pod ${what[reason]}` : `Pod ${pod}: ${what[reason]}`;
}

/** For example "no worker makes progress: Pod a stopped first, at 2026-01-01T00:00:00.000Z, after step 12". */
function describeHang({ pod, candidates = [], since, step, rank }: RestartCause): string {
  const of = rank === undefined ? "" : ` (NCCL rank ${rank})`;
  const who =
    pod === undefined
      ? `it is not known which of ${candidates.join(", ")} stopped first`
      : `Pod ${pod}${of} stopped first`;
  const after = step === undefined ? "" : ` after ${rank === undefined ? "step" : "operation"} ${step}`;
  return `no worker makes progress: ${who}, at ${since}${after}`;
}

/** For example "Pods a, b failed at about the same time with code 1, and it is not known which was the first". */
function describeCandidates(candidates: readonly string[], exitCode: number | undefined): string {
  const code = exitCode === undefined ? "" : ` with code ${exitCode}`;
  const [first] = candidates;
  if (candidates.length === 1) return `Pod ${first}: failed${code}, and it is not known whether it was the first`;
  return `Pods ${candidates.join(", ")} failed at about the same time${code}, and it is not known which was the first`;
}

/** The end of a note: the last words of the container, if it had any. */
export function describeLastWords({ message }: RestartCause): string {
  return message === undefined ? "" : `; its last words: ${JSON.stringify(message)}`;
}

/** For example "holding the barrier until 2026-01-01T00:01:20.000Z: 4 restarts in a row without progress". */
export function describeHold({ backoffUntil, streak }: RestartRecord): string {
  return `holding the barrier until ${backoffUntil}: ${streak?.restarts ?? 0} restarts in a row without progress`;
}
