// The views that a controller can have of the small model's group, numbered. Each is computed once, by the real
// observe.ts and decide.ts. Time stands still, so that a view does not depend on when it was reached.
import { type Decision, decide } from "../../../controller/decide.ts";
import { type Group, newGroup } from "../../../controller/group/group.ts";
import { forgetPod, observeJob, observeJobSet, observeObject, observePod } from "../../../controller/group/observe.ts";
import { type InPlaceRestart, readInPlaceRestart } from "../../api/in-place-restart.ts";
import type { Job } from "../../api/job.ts";
import type { JobSet } from "../../api/jobset.ts";
import type { Pod } from "../../api/pod.ts";
import { DEFAULT_RESTART_POLICY } from "../../api/restart-policy.ts";
import type { StoredObject } from "../api-server.ts";

const NOW = Date.UTC(2026, 0, 1);

/** After every pause before a verdict, so that no decision depends on one. */
const DECIDED_AT = NOW + 2_000;

export class KnownGroups {
  readonly #groups: Group[] = [];
  readonly #byKey = new Map<string, number>();
  readonly #after = new Map<string, number>();
  readonly #decisions: (Decision | undefined)[] = [];
  /** The view of the JobSet and its Job only, which never change here. */
  readonly nothing: number;

  constructor(jobSet: JobSet, job: Job) {
    const group = newGroup();
    observeJobSet(group, jobSet, NOW);
    observeJob(group, job, NOW);
    this.nothing = this.#number(group);
  }

  /** `key` names the version of the Pod. */
  afterPod(group: number, key: string, pod: () => Pod): number {
    return this.#observed(group, `pod ${key}`, (copy) => observePod(copy, pod(), NOW));
  }

  /** The Pod is gone. */
  afterPodGone(group: number, uid: string): number {
    return this.#observed(group, `gone ${uid}`, (copy) => forgetPod(copy, uid, NOW));
  }

  afterObject(group: number, object: StoredObject): number {
    const { resourceVersion } = object.metadata;
    return this.#observed(group, `object ${resourceVersion}`, (copy) => {
      observeObject(copy, readInPlaceRestart(object), NOW);
    });
  }

  /** The decision, and the object that it builds on. */
  decision(group: number): { readonly object: InPlaceRestart | undefined; readonly decision: Decision | undefined } {
    const known = this.#group(group);
    if (!(group in this.#decisions))
      this.#decisions[group] = decide(known, DECIDED_AT, DEFAULT_RESTART_POLICY).decision;
    return { object: known.object, decision: this.#decisions[group] };
  }

  #observed(group: number, event: string, observe: (copy: Group) => void): number {
    const key = `${group} ${event}`;
    const known = this.#after.get(key);
    if (known !== undefined) return known;
    const { jobSet, ...rest } = this.#group(group);
    // The JobSet is by far the largest part and never changes.
    const copy: Group = { ...structuredClone(rest), jobSet };
    observe(copy);
    const after = this.#number(copy);
    this.#after.set(key, after);
    return after;
  }

  #group(number: number): Group {
    const group = this.#groups[number];
    if (group === undefined) throw new Error(`there is no group ${number}`);
    return group;
  }

  #number(group: Group): number {
    const key = keyOf(group);
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    this.#byKey.set(key, this.#groups.length);
    return this.#groups.push(group) - 1;
  }
}

/**
 * Equal for groups with the same future. Events are numbered, but numbers of different Pods are never compared: only
 * the order of one Pod's events, of the last sync, and of 0 for "never" matters.
 */
function keyOf(group: Group): string {
  const { members, losses, firstLosses, told, stages, jobs, object, baseline, watchedEpoch, suspensionSeen } = group;
  const known = [...members.values()].map(({ pod, firstSeenAt, publishedAt, runs, ...rest }) => {
    const run = [...runs.values()];
    const seen = [losses, firstLosses].map((some) => some.get(pod.uid)?.runSeenAt ?? 0);
    const order = ranks([baseline, firstSeenAt, publishedAt, ...seen, ...run.map(({ seenAt }) => seenAt)]);
    return [pod.uid, pod.epoch, pod.hang, pod.phase, pod.containers, rest, run.map(({ id }) => id), order];
  });
  // The first loss seen ends the epoch, so the order matters here.
  const ordered = [losses, firstLosses].map((some) => [...some].map(([uid, { runSeenAt, ...loss }]) => [uid, loss]));
  const rest = [told, stages, jobs, object?.resourceVersion, watchedEpoch, suspensionSeen];
  return JSON.stringify([known, ordered, ...rest], (_, value: unknown) => plain(value));
}

function ranks(numbers: readonly number[]): readonly number[] {
  const ordered = [...new Set([0, ...numbers])].sort((a, b) => a - b);
  return numbers.map((number) => ordered.indexOf(number));
}

/** The insertion order of maps and sets does not matter. */
function plain(value: unknown): unknown {
  return value instanceof Map || value instanceof Set ? [...value].sort() : value;
}
