// Pods that cannot restart in place are deleted, so that their Jobs create new ones. A Job waits 10 s or more before it
// does, and until then the other Pods wait at the barrier. Pure.
import type { RestartRecord } from "../../src/api/in-place-restart.ts";
import { budgetOf, isSpent } from "../escalation/used-budget.ts";
import { requestedProofs } from "../group/evidence.ts";
import type { Group, Member } from "../group/group.ts";
import { podsBlockedByForeignEpoch } from "../status/foreign-epochs.ts";
import { openRecord } from "../status/history.ts";
import type { Context, Status, Step } from "./rule.ts";

export function replacePod({ group, jobSet, status, now }: Context): Step | undefined {
  const record = openRecord(status);
  // Beyond the budget the JobSet fails as soon as every Pod is back, so none is replaced.
  const isLast = record?.counted === true && isSpent(budgetOf(jobSet, status.restarts));
  const failed = record === undefined || isLast ? [] : podsToRecreate(group, record, status, now);
  const replaced = [...failed, ...podsBlockedByForeignEpoch(group, status)];
  const { pod } = replaced.find(({ state }) => state === "live") ?? {};
  if (pod === undefined) return undefined;
  const { name, uid } = pod;
  return { status, notices: [], removal: { kind: "delete-pod", pod: { name, uid } } };
}

/** The Pods that the record names, and every other Pod whose exit code requested it in the same epoch. */
function podsToRecreate(
  group: Group,
  { action, target, targets = [] }: RestartRecord,
  status: Status,
  now: number,
): readonly Member[] {
  const requested = requestedProofs(group, status, now, "recreate").map(([uid]) => uid);
  const uids = action === "RecreatePod" ? [...(target === undefined ? [] : [target]), ...targets] : [];
  return [...uids, ...requested].flatMap((uid) => group.members.get(uid) ?? []);
}
