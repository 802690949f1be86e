// The Pods that cannot restart in place: deleted, so that their Jobs make new ones. A Job waits 10 s and more before it does,
// and until then the others wait at the barrier. Pure.
import type { RestartRecord } from "../src/api/in-place-restart.ts";
import { isProof } from "./evidence.ts";
import type { Group, Member } from "./group.ts";
import { openRecord } from "./history.ts";
import type { Status, Step } from "./step.ts";

export function replacePod(group: Group, status: Status, now: number): Step | undefined {
  const record = openRecord(status);
  if (record === undefined) return undefined;
  const { pod } = condemned(group, record, status, now).find(({ standing }) => standing === "live") ?? {};
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
