// Reconciles one group: decides, executes the decision, and publishes Events about it. All it knows comes from the
// watches. After a write it waits until they show the result, so that no decision is made twice on the same view.
import type { InPlaceRestart } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { JOBSET } from "../../src/api/names.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import type { ObjectReference, Occurrence } from "../../src/kube/events.ts";
import type { Logger } from "../../src/telemetry/log.ts";
import { decide } from "../decide.ts";
import { type Basis, execute, type Writes } from "../execute.ts";
import type { Group } from "../group/group.ts";
import type { Groups } from "../group/groups.ts";
import { noteReported } from "../group/observe.ts";
import { PAST_DEADLINE_SECONDS } from "../rules/recreate-jobset.ts";
import type { Notice } from "../status/notice.ts";
import type { PodReport } from "../status/pod-report.ts";
import type { AgentAccess } from "./agent-access.ts";
import type { AgentEpochs } from "./agent-epochs.ts";
import { Expectations } from "./expectations.ts";
import { type FencedWrites, JOBSET_API } from "./fenced-writes.ts";
import type { ControllerMetrics } from "./metrics.ts";

interface ReconcilerOptions {
  readonly groups: Groups;
  readonly fencedWrites: FencedWrites;
  readonly access: AgentAccess;
  readonly epochs: AgentEpochs;
  readonly record: (occurrence: Occurrence) => void;
  readonly metrics: ControllerMetrics;
  readonly policy: RestartPolicy;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * A group is reconciled at most once in this time, whatever its Pods do: thousands of events arrive in a restart, and
 * most of them change nothing that a decision needs. A group that was quiet is reconciled at once.
 */
export const RECONCILE_REST_MS = 10;

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #expectations: Expectations;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#expectations = new Expectations(options.now);
  }

  /**
   * Returns the delay to the next reconcile in milliseconds, if one is due without a change. The signal ends with the
   * term.
   */
  async reconcile(key: string, signal: AbortSignal): Promise<number | undefined> {
    const { groups, access, epochs, policy, now } = this.#options;
    const group = groups.get(key);
    if (group?.jobSet === undefined) {
      this.#expectations.forget(key);
      access.forget(key);
      epochs.forget(key);
      return undefined;
    }
    const waitMs = this.#expectations.waitMs(key, group);
    if (waitMs > 0) return waitMs;
    const { jobSet, object } = group;
    const at = now();
    const { decision, rule, reports, wakeAt } = decide(group, at, policy);
    this.#reportPods(group, jobSet, reports);
    // Agents are told at once, and not only when the watch shows what was written.
    const tell = async (): Promise<number | undefined> => {
      let latest = object;
      const writes = this.#writes(key, jobSet, rule, signal, (written) => {
        latest = written;
      });
      if (decision !== undefined) await inTurn(execute(decision, { jobSet, object }, writes));
      return epochs.ensure(key, jobSet, latest, signal);
    };
    // Concurrently, because starting agents need both. If one fails, the other still completes.
    const [told, accessible] = await Promise.allSettled([tell(), access.ensure(key, jobSet, object, signal)]);
    if (told.status === "rejected") throw told.reason;
    if (accessible.status === "rejected") throw accessible.reason;
    return earliest(wakeAt === undefined ? undefined : wakeAt - at, told.value, accessible.value);
  }

  /** API requests that are fenced, and remembered until the watches show their effect. */
  #writes(
    key: string,
    jobSet: Basis["jobSet"],
    rule: string | undefined,
    signal: AbortSignal,
    onStatus: (written: InPlaceRestart) => void,
  ): Writes<Promise<void>> {
    const { fencedWrites, metrics, log, record, now } = this.#options;
    const expect = (holds: (group: Group) => boolean) => this.#expectations.expect(key, holds);
    return {
      createObject: async (owner) => {
        const { uid } = await fencedWrites.createObject(owner, signal);
        expect(({ object }) => object?.uid === uid);
      },
      deleteObject: async (object) => {
        await fencedWrites.deleteObject(object, signal);
        expect((seen) => seen.object?.uid !== object.uid);
      },
      writeStatus: async (object, status) => {
        const { resourceVersion } = await fencedWrites.writeStatus(object, status, signal);
        metrics.written(object.status, status);
        onStatus({ ...object, resourceVersion, status });
        expect((seen) => seen.object?.uid !== object.uid || !isOlder(seen.object.resourceVersion, resourceVersion));
      },
      failJobSet: async (failed, { reason, message }) => {
        await fencedWrites.failJobSet(failed, { reason, message, at: new Date(now()) }, signal);
        expect((seen) => seen.jobSet?.uid !== failed.uid || seen.jobSet.outcome !== "none");
      },
      deletePod: async (owner, pod) => {
        await fencedWrites.deletePod(owner, pod, signal);
        expect(({ members }) => members.get(pod.uid)?.state !== "live");
      },
      failJob: async (owner, { name, uid }) => {
        await fencedWrites.failJob(owner, { name, uid }, signal);
        expect(({ jobs }) => {
          const job = jobs.get(uid)?.job;
          return job === undefined || job.activeDeadlineSeconds === PAST_DEADLINE_SECONDS;
        });
      },
      decided: (decision) => {
        metrics.decided(decision.kind);
        log.debug({ group: key, rule, decision: decision.kind }, "decision executed");
        if (!("notices" in decision)) return;
        for (const notice of decision.notices) record(occurrence(jobSetReference(jobSet), notice));
      },
    };
  }

  #reportPods(group: Group, { namespace }: JobSet, reports: readonly PodReport[]): void {
    for (const { pod, text, ...notice } of reports) {
      this.#options.record(occurrence({ apiVersion: "v1", kind: "Pod", namespace, ...pod }, notice));
      noteReported(group, pod.uid, notice.reason, text);
    }
  }
}

/** Each write is sent after the one before it succeeded. */
async function inTurn(writes: Iterable<Promise<void>>): Promise<void> {
  for (const written of writes) await written;
}

export function jobSetReference({ namespace, name, uid }: Pick<JobSet, "namespace" | "name" | "uid">): ObjectReference {
  return { apiVersion: JOBSET_API, kind: JOBSET.kind, namespace, name, uid };
}

function occurrence(regarding: ObjectReference, { type, reason, action, note }: Notice): Occurrence {
  return { regarding, type, reason, action, note };
}

/** Resource versions of one object are numbers that grow; Kubernetes guarantees this since 1.35. */
function isOlder(version: string, than: string): boolean {
  return version.length === than.length ? version < than : version.length < than.length;
}

function earliest(...delays: readonly (number | undefined)[]): number | undefined {
  const known = delays.filter((delay) => delay !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
