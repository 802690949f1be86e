// Everything that the page can show, kept up to date by the changes of watches. It collects what has changed since it
// was last asked, so that a burst of changes costs each client one small event. No I/O and no clock.
import type { Change } from "../../api/change.ts";
import type { InPlaceRestart } from "../../api/in-place-restart.ts";
import type { JobSet } from "../../api/jobset.ts";
import type { Pod } from "../../api/pod.ts";
import { groupDetail, groupView } from "./group-view.ts";
import { epochOf, podState, restartsOf } from "./pod-state.ts";
import { type GroupDetail, type GroupView, POD_STATES, type PodChange, type PodRow } from "./wire.ts";

/** What has changed in one group since the last call of drain(). */
interface GroupChanges {
  readonly detail: boolean;
  readonly added: readonly PodRow[];
  readonly changed: readonly PodChange[];
  readonly removed: readonly number[];
}

export interface Changes {
  readonly groups: readonly GroupView[];
  readonly removedGroups: readonly string[];
  /** By key of the group. */
  readonly details: ReadonlyMap<string, GroupChanges>;
}

interface Member {
  readonly id: number;
  pod: Pod;
  /** As it was last handed out; undefined if it never was. */
  sent: PodRow | undefined;
}

interface Group {
  object?: InPlaceRestart;
  jobSet?: JobSet;
  /** By UID: a Pod and its replacement may exist side by side. */
  readonly members: Map<string, Member>;
}

interface Dirty {
  view: boolean;
  /** Whether all Pods are to be compared, because the epochs of the group have changed. */
  all: boolean;
  readonly members: Set<Member>;
  readonly removed: number[];
}

export class Model {
  readonly #groups = new Map<string, Group>();
  readonly #dirty = new Map<string, Dirty>();
  #ids = 0;

  get isDirty(): boolean {
    return this.#dirty.size > 0;
  }

  objectChanged({ kind, key, item }: Change<InPlaceRestart>): void {
    const group = this.#group(key);
    if (kind === "deleted") delete group.object;
    else group.object = item;
    const dirty = this.#touch(key);
    dirty.view = true;
    dirty.all = true;
    this.#forgetIfEmpty(key, group);
  }

  jobSetChanged({ kind, key, item }: Change<JobSet>): void {
    const group = this.#group(key);
    if (kind === "deleted") delete group.jobSet;
    else group.jobSet = item;
    this.#touch(key).view = true;
    this.#forgetIfEmpty(key, group);
  }

  podChanged({ kind, uid, item }: Change<Pod>): void {
    const key = `${item.namespace}/${item.jobSetName}`;
    const group = this.#group(key);
    const dirty = this.#touch(key);
    const known = group.members.get(uid);
    if (kind === "deleted") {
      if (known === undefined) return;
      group.members.delete(uid);
      dirty.members.delete(known);
      if (known.sent !== undefined) dirty.removed.push(known.id);
      this.#forgetIfEmpty(key, group);
      return;
    }
    const member = known ?? { id: this.#ids++, pod: item, sent: undefined };
    member.pod = item;
    group.members.set(uid, member);
    dirty.members.add(member);
  }

  /** All groups, by name. Only JobSets with an InPlaceRestart are groups. */
  groups(): readonly GroupView[] {
    return [...this.#groups.values()]
      .flatMap(({ object, jobSet }) => (object === undefined ? [] : [groupView(object, jobSet)]))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  detail(key: string): GroupDetail | null {
    const object = this.#groups.get(key)?.object;
    return object === undefined ? null : groupDetail(object);
  }

  /** All Pods of a group, as they were handed out last: a drain() brings the rest. */
  pods(key: string): readonly PodRow[] {
    return [...(this.#groups.get(key)?.members.values() ?? [])].flatMap(({ sent }) =>
      sent === undefined ? [] : [sent],
    );
  }

  drain(): Changes {
    const groups: GroupView[] = [];
    const removedGroups: string[] = [];
    const details = new Map<string, GroupChanges>();
    for (const [key, dirty] of this.#dirty) {
      const group = this.#groups.get(key);
      if (dirty.view) {
        if (group?.object === undefined) removedGroups.push(key);
        else groups.push(groupView(group.object, group.jobSet));
      }
      details.set(key, podChanges(group, dirty));
    }
    this.#dirty.clear();
    return { groups, removedGroups, details };
  }

  #group(key: string): Group {
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group: Group = { members: new Map() };
    this.#groups.set(key, group);
    return group;
  }

  #touch(key: string): Dirty {
    const known = this.#dirty.get(key);
    if (known !== undefined) return known;
    const dirty: Dirty = { view: false, all: false, members: new Set(), removed: [] };
    this.#dirty.set(key, dirty);
    return dirty;
  }

  #forgetIfEmpty(key: string, { object, jobSet, members }: Group): void {
    if (object === undefined && jobSet === undefined && members.size === 0) this.#groups.delete(key);
  }
}

function podChanges(group: Group | undefined, dirty: Dirty): GroupChanges {
  const added: PodRow[] = [];
  const changed: PodChange[] = [];
  for (const member of dirty.all ? (group?.members.values() ?? []) : dirty.members) {
    const before = member.sent;
    const after = podRow(member, group?.object);
    member.sent = after;
    if (before === undefined) added.push(after);
    else if (differs(before, after)) changed.push([after[0], after[5], after[6], after[7], after[8]]);
  }
  return { detail: dirty.view, added, changed, removed: dirty.removed };
}

/** Only these fields change while a Pod exists. */
function differs(before: PodRow, after: PodRow): boolean {
  return [5, 6, 7, 8].some((field) => before[field] !== after[field]);
}

function podRow({ id, pod }: Member, object: InPlaceRestart | undefined): PodRow {
  const state = POD_STATES.indexOf(podState(pod, object?.status));
  return [
    id,
    pod.name,
    pod.replicatedJob,
    pod.jobIndex ?? 0,
    pod.completionIndex ?? 0,
    pod.node ?? "",
    state,
    epochOf(pod),
    restartsOf(pod),
  ];
}
