// The Pods that cannot restart in place: deleted, so that their Jobs make new ones. A Job waits 10 s and more before it does,
// and until then the others wait at the barrier. Pure.
import type { RestartRecord } from "../../src/api/in-place-restart.ts";
import { epochRuns, highestPlausible, podsBeyond } from "../group/epochs.ts";
import { isProof } from "../group/evidence.ts";
import type { Group, Member } from "../group/group.ts";
import { unfilled } from "../group/startup-order.ts";
import { openRecord } from "../status/history.ts";
import { isStalled } from "../status/summary.ts";
import type { Status, Step } from "./rule.ts";

export function replacePod(group: Group, status: Status, now: number): Step | undefined {
  const record = openRecord(status);
  const replaced = [...(record === undefined ? [] : condemned(group, record, status, now)), ...strayed(group, status)];
  const { pod } = replaced.find(({ standing }) => standing === "live") ?? {};
  if (pod === undefined) return undefined;
  const { name, uid } = pod;
  return { status, notices: [], removal: { kind: "delete-pod", pod: { name, uid } } };
}

/** The one the record names, and those that asked for it in the same epoch without being the first to fail. */
function condemned(group: Group, { action, target }: RestartRecord, status: Status, now: number): readonly Member[] {
  const asked = [...group.losses].filter(([, loss]) => loss.ask === "recreate" && isProof(group, loss, status, now));
  const uids = [...(action === "RecreatePod" && target !== undefined ? [target] : []), ...asked.map(([uid]) => uid)];
  return uids.flatMap((uid) => group.members.get(uid) ?? []);
}

/**
 * Those with an epoch that no agent can have taken. While the group runs they do no harm; but they cannot come back to it, because
 * nobody may write a lower epoch on a Pod. An agent writes once: who waits for one whose epoch somebody else has changed since, waits in vain.
 */
export function strayed(group: Group, status: Status): readonly Member[] {
  const lost = isStalled(status) ? awaitedInVain(group, status) : [];
  return epochRuns(status) ? lost : [...podsBeyond(group, highestPlausible(status)), ...lost];
}

/** At the barrier, or in a stage that should have begun. Only when a wait has stalled: a restart mends it as well. */
function awaitedInVain(group: Group, status: Status): readonly Member[] {
  const unreadable = [...group.malformed].flatMap((uid) => group.members.get(uid) ?? []);
  if (!epochRuns(status)) return unreadable;
  const awaited = new Set(unfilled(group, status).map(({ stage }) => stage.name));
  return [...unreadable, ...podsBeyond(group, status.syncedEpoch + 1)].filter(({ pod }) =>
    awaited.has(pod.replicatedJob),
  );
}
