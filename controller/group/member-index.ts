// The Pods of a group, and the indexes over them: decisions are made many times while thousands of Pods change, and
// must not go through all of them. Every index follows from the members alone. Changed only by observe.ts.
import { epochOf } from "./epochs.ts";
import type { Group, Member, Saving } from "./group.ts";
import { isReported } from "./hang.ts";
import { addTo, mark, removeFrom } from "./index-sets.ts";
import { leftoversText } from "./leftovers.ts";
import { isFinishing } from "./membership.ts";

/** The sets of the group, and which Pods belong to each. */
const MARKS = [
  ["malformed", ({ pod }: Member) => pod.epoch.kind === "malformed"],
  ["ending", ({ state }: Member) => state === "ending"],
  ["finishing", isFinishing],
  ["hanging", isReported],
] as const;

/** Adds a Pod, or replaces what was known about it. */
export function keepMember(group: Group, member: Member): void {
  const { uid } = member.pod;
  const before = group.members.get(uid);
  group.members.set(uid, member);
  for (const [name, belongs] of MARKS) {
    const isMarked = before !== undefined && belongs(before);
    if (isMarked !== belongs(member)) mark(group[name], uid, !isMarked);
  }
  const leftovers = leftoversText(member.pod);
  if (leftovers === undefined) group.newLeftovers.delete(uid);
  else if (before === undefined || leftovers !== leftoversText(before.pod)) group.newLeftovers.add(uid);
  reindex(group.liveByEpoch, uid, before && liveEpoch(before), liveEpoch(member));
  reindex(group.podsByNode, uid, before && presentNode(before), presentNode(member));
  reindex(group.terminating, uid, before?.graceEnd, member.graceEnd);
  if (before?.savesUntil === undefined && member.savesUntil === undefined) return;
  if (before !== undefined) tallySaving(group, before, -1);
  tallySaving(group, member, 1);
}

export function dropMember(group: Group, member: Member): void {
  const { uid } = member.pod;
  group.members.delete(uid);
  for (const [name] of MARKS) group[name].delete(uid);
  group.newLeftovers.delete(uid);
  reindex(group.liveByEpoch, uid, liveEpoch(member), undefined);
  reindex(group.podsByNode, uid, presentNode(member), undefined);
  reindex(group.terminating, uid, member.graceEnd, undefined);
  tallySaving(group, member, -1);
}

function liveEpoch(member: Member): number | undefined {
  return member.state === "live" ? epochOf(member) : undefined;
}

function presentNode({ state, pod }: Member): string | undefined {
  return state === "live" || state === "ending" ? pod.node : undefined;
}

function reindex<K>(index: Map<K, Set<string>>, uid: string, before: K | undefined, after: K | undefined): void {
  if (before === after) return;
  if (before !== undefined) removeFrom(index, before, uid);
  if (after !== undefined) addTo(index, after, uid);
}

/** Pods are deleted together, and Kubernetes stores whole seconds: there are few different ends. */
function tallySaving({ saving }: Group, member: Member, sign: 1 | -1): void {
  const { savesUntil: until, pod } = member;
  if (until === undefined) return;
  const { replicatedJob: stage, node = "" } = pod;
  const epoch = epochOf(member);
  const key = `${until}/${epoch ?? ""}/${stage}`;
  const tally: Saving = saving.get(key) ?? { until, epoch, stage, nodes: new Map() };
  const count = (tally.nodes.get(node) ?? 0) + sign;
  if (count === 0) tally.nodes.delete(node);
  else tally.nodes.set(node, count);
  if (tally.nodes.size === 0) saving.delete(key);
  else saving.set(key, tally);
}
