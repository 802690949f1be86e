// Looks at one group, carries out the one decision there may be, and tells users about it. Whatever it knows comes from the
// watches; after a write it waits until they show the result, so that no decision is made twice on the same view.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { JOBSET } from "../../src/api/names.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import type { ObjectReference, Occurrence } from "../../src/kube/events.ts";
import { type Decision, decide } from "../decide.ts";
import type { Group } from "../group/group.ts";
import { noteReported } from "../group/observe.ts";
import { PAST_DEADLINE_SECONDS } from "../rules/recreate-jobset.ts";
import type { PodReport } from "../status/foreign-epochs.ts";
import type { Notice } from "../status/notice.ts";
import type { AgentAccess } from "./agent-access.ts";
import { JOBSET_API, type Requests } from "./fenced-writes.ts";
import type { Groups } from "./groups.ts";
import type { ControllerMetrics } from "./metrics.ts";

/** Whether the watches show what was written. */
type Expectation = (group: Group) => boolean;

/** A watch delivers within milliseconds. One that is cut may never show a state that was soon replaced: then look anyway. */
const PATIENCE_MS = 5_000;

export interface ReconcilerOptions {
  readonly groups: Groups;
  readonly requests: Requests;
  readonly access: AgentAccess;
  readonly record: (occurrence: Occurrence) => void;
  readonly metrics: ControllerMetrics;
  readonly policy: RestartPolicy;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #expected = new Map<string, { readonly holds: Expectation; readonly until: number }>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Returns when to look again, in milliseconds from now, even if nothing changes. The signal ends with the term. */
  async reconcile(key: string, signal: AbortSignal): Promise<number | undefined> {
    const group = this.#options.groups.get(key);
    if (group?.jobSet === undefined) {
      this.#expected.delete(key);
      this.#options.access.forget(key);
      return undefined;
    }
    const patience = this.#patience(key, group);
    if (patience > 0) return patience;
    const { jobSet } = group;
    const now = this.#options.now();
    const { decision, reports, wakeAt } = decide(group, now, this.#options.policy);
    this.#tellPods(group, jobSet, reports);
    // Side by side, because agents that start need both; a failure of one must not hide the other.
    const [carriedOut, accessible] = await Promise.allSettled([
      decision === undefined ? undefined : this.#carryOut(key, jobSet, group, decision, signal),
      this.#options.access.ensure(key, jobSet, group.object, signal),
    ]);
    if (carriedOut.status === "rejected") throw carriedOut.reason;
    if (accessible.status === "rejected") throw accessible.reason;
    return earliest(wakeAt === undefined ? undefined : wakeAt - now, accessible.value);
  }

  #patience(key: string, group: Group): number {
    const expected = this.#expected.get(key);
    if (expected === undefined) return 0;
    const left = expected.until - this.#options.now();
    if (left > 0 && !expected.holds(group)) return left;
    this.#expected.delete(key);
    return 0;
  }

  #expect(key: string, holds: Expectation): void {
    this.#expected.set(key, { holds, until: this.#options.now() + PATIENCE_MS });
  }

  async #carryOut(key: string, jobSet: JobSet, group: Group, decision: Decision, signal: AbortSignal): Promise<void> {
    const { requests, now } = this.#options;
    switch (decision.kind) {
      case "create": {
        const { uid } = await requests.createObject(jobSet, signal);
        this.#expect(key, (seen) => seen.object?.uid === uid);
        this.#done(jobSet, decision.kind, []);
        return;
      }
      case "delete": {
        const { uid } = decision.object;
        await requests.deleteObject(decision.object, signal);
        this.#expect(key, (seen) => seen.object?.uid !== uid);
        this.#done(jobSet, decision.kind, []);
        return;
      }
      case "fail":
        await requests.failJobSet(jobSet, decision.reason, decision.message, new Date(now()), signal);
        this.#expect(key, (seen) => seen.jobSet?.uid !== jobSet.uid || seen.jobSet.outcome !== "none");
        this.#done(jobSet, decision.kind, decision.notices);
        if (decision.status !== undefined) await this.#write(key, group, decision.status, signal);
        return;
      case "delete-pod": {
        const { uid } = decision.pod;
        await requests.deletePod(jobSet, decision.pod, signal);
        this.#expect(key, (seen) => seen.members.get(uid)?.state !== "live");
        this.#done(jobSet, decision.kind, []);
        return;
      }
      case "fail-job": {
        const { uid } = decision.job;
        await requests.failJob(jobSet, decision.job, signal);
        this.#expect(key, (seen) => {
          const job = seen.jobs.get(uid)?.job;
          return job === undefined || job.activeDeadlineSeconds === PAST_DEADLINE_SECONDS;
        });
        this.#done(jobSet, decision.kind, []);
        return;
      }
      case "write":
        await this.#write(key, group, decision.status, signal);
        this.#done(jobSet, decision.kind, decision.notices);
        return;
    }
  }

  #done(jobSet: JobSet, kind: Decision["kind"], notices: readonly Notice[]): void {
    this.#options.metrics.decided(kind);
    for (const notice of notices) this.#options.record(occurrence(jobSetReference(jobSet), notice));
  }

  async #write(key: string, { object }: Group, status: InPlaceRestartStatus, signal: AbortSignal): Promise<void> {
    if (object === undefined) return;
    const { uid } = object;
    const { resourceVersion } = await this.#options.requests.writeStatus(object, status, signal);
    this.#options.metrics.written(object.status, status);
    const before = this.#expected.get(key)?.holds;
    const written: Expectation = (seen) =>
      seen.object?.uid !== uid || !isOlder(seen.object.resourceVersion, resourceVersion);
    this.#expect(key, (seen) => written(seen) && (before?.(seen) ?? true));
  }

  #tellPods(group: Group, { namespace }: JobSet, reports: readonly PodReport[]): void {
    for (const { pod, text, ...notice } of reports) {
      this.#options.record(occurrence({ apiVersion: "v1", kind: "Pod", namespace, ...pod }, notice));
      noteReported(group, pod.uid, text);
    }
  }
}

export function jobSetReference({ namespace, name, uid }: Pick<JobSet, "namespace" | "name" | "uid">): ObjectReference {
  return { apiVersion: JOBSET_API, kind: JOBSET.kind, namespace, name, uid };
}

function occurrence(regarding: ObjectReference, { type, reason, action, note }: Notice): Occurrence {
  return { regarding, type, reason, action, note };
}

/** Versions of one object are numbers that grow; Kubernetes promises so since 1.35. */
function isOlder(version: string, than: string): boolean {
  return version.length === than.length ? version < than : version.length < than.length;
}

function earliest(...delays: readonly (number | undefined)[]): number | undefined {
  const known = delays.filter((delay) => delay !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
