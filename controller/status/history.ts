// The record of the last restarts. The newest is open until its epoch is synced: until then its cause may turn out to be
// one that does not count. Pure.
import {
  HISTORY_LIMIT,
  type InPlaceRestartStatus,
  type RestartCause,
  type RestartRecord,
} from "../../src/api/in-place-restart.ts";

type Status = InPlaceRestartStatus;

/** The restart that is under way: told to restart, and not synced yet. */
export function openRecord({ history }: Status): RestartRecord | undefined {
  const last = history.at(-1);
  return last?.synced === undefined ? last : undefined;
}

export function withRecord(status: Status, record: RestartRecord): Status {
  return { ...status, history: [...status.history, record].slice(-HISTORY_LIMIT) };
}

/** Changes the newest record. */
export function amended(status: Status, change: Partial<RestartRecord>): Status {
  const last = status.history.at(-1);
  return last === undefined ? status : { ...status, history: [...status.history.slice(0, -1), { ...last, ...change }] };
}

/** The open record was no restart after all: Pods were deleted because the JobSet was suspended or ended. */
export function withoutDeletion(status: Status): Status {
  return openRecord(status)?.cause.reason === "PodDeleted"
    ? { ...status, history: status.history.slice(0, -1) }
    : status;
}

/** Such as "Pod train-workers-0-1-abcde: container main exited with code 3". */
export function describeCause({ reason, pod, container, exitCode }: RestartCause): string {
  const exit = container === undefined ? "" : `container ${container} exited with code ${exitCode ?? "unknown"}`;
  const what: Readonly<Record<RestartCause["reason"], string>> = {
    ContainerExited: exit,
    PodRestarted: "restarted",
    PodFailed: exit === "" ? "failed" : `failed, ${exit}`,
    PodDeleted: "was deleted",
    Disruption: "was disrupted",
    StateLost: "the group's InPlaceRestart object was lost",
  };
  if (reason === "StateLost") return what[reason];
  return pod === undefined ? `a Pod ${what[reason]}` : `Pod ${pod}: ${what[reason]}`;
}

/** Such as "holding the barrier until 2026-01-01T00:01:20.000Z: 4 restarts in a row without progress". */
export function describeHold({ backoffUntil, streak }: RestartRecord): string {
  return `holding the barrier until ${backoffUntil}: ${streak?.restarts ?? 0} restarts in a row without progress`;
}
