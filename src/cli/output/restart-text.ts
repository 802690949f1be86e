// The texts of `reprise restart`: the request as the annotation holds it, and the result. Pure.
import type { InPlaceRestartStatus } from "../../api/in-place-restart.ts";
import { wholeSeconds } from "../../api/metadata.ts";

/** Names of users have any length. The reason matters more. */
const USER_LENGTH = 60;

/** For example "loss is NaN (alice, 2026-01-01T12:00:00Z)". The time makes each request a new one. */
export function requestText(reason: string, user: string, now: number): string {
  const who = user.length > USER_LENGTH ? `${user.slice(0, USER_LENGTH)}...` : user;
  return `${reason.trim()} (${who}, ${wholeSeconds(now)})`;
}

/** After the restart: how long it took, or that another restart answered the request. */
export function restartedText({ history, syncedEpoch }: InPlaceRestartStatus, request: string): string {
  const record = history.findLast(({ cause }) => cause.request === request);
  const seconds = (Date.parse(record?.allRunning ?? "") - Date.parse(record?.failureSeen ?? "")) / 1_000;
  const running = `every worker runs in epoch ${syncedEpoch}`;
  return Number.isNaN(seconds)
    ? `${running}; the group was not running when the request came, so nothing was restarted for it`
    : `${running}, ${seconds.toFixed(1)} s after the request was seen`;
}
