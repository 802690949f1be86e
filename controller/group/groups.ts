// All groups of the cluster, kept up to date by the watches. Each change is routed to the group it names, and that
// group is reconciled again. Decides nothing. A group is dropped when none of its objects exists. Pure.
import type { Change } from "../../src/api/change.ts";
import type { InPlaceRestart } from "../../src/api/in-place-restart.ts";
import type { Job } from "../../src/api/job.ts";
import { type JobSet, runsHere } from "../../src/api/jobset.ts";
import { JOBSET } from "../../src/api/names.ts";
import type { Pod } from "../../src/api/pod.ts";
import type { Surroundings } from "../stuck-pods/surroundings.ts";
import { epochRuns } from "./epochs.ts";
import { type Group, newGroup } from "./group.ts";
import { forgetJob, forgetPod, observeJob, observeJobSet, observeObject, observePod } from "./observe.ts";

interface GroupsOptions {
  /** A group with a JobSet changed, or lost its JobSet. */
  readonly onChange: (key: string) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly surroundings?: Surroundings;
}

/** Keys are "namespace/name" of the JobSet. */
export class Groups {
  readonly #options: GroupsOptions;
  readonly #groups = new Map<string, Group>();

  constructor(options: GroupsOptions) {
    this.#options = options;
  }

  get(key: string): Group | undefined {
    return this.#groups.get(key);
  }

  keys(): Iterable<string> {
    return this.#groups.keys();
  }

  values(): Iterable<Group> {
    return this.#groups.values();
  }

  jobSetChanged(change: Change<JobSet>): void {
    // MultiKueue's manager cluster keeps the JobSet whose Pods, and whose group, are in another cluster.
    const isHere = change.kind !== "deleted" && runsHere(change.item);
    this.#change(change.key, (group, now) => {
      observeJobSet(group, isHere ? change.item : undefined, now);
    });
  }

  jobChanged({ kind, uid, item }: Change<Job>): void {
    const { controller, namespace } = item;
    if (controller?.kind !== JOBSET.kind) return;
    this.#change(`${namespace}/${controller.name}`, (group, now) => {
      if (kind === "deleted") forgetJob(group, uid, now);
      else observeJob(group, item, now);
    });
  }

  podChanged(change: Change<Pod>): void {
    const { kind, uid, item } = change;
    const key = groupOf(item);
    // A changed label moves the Pod from one group to another.
    if (kind === "updated" && groupOf(change.old) !== key) {
      this.#change(groupOf(change.old), (group, now) => forgetPod(group, uid, now));
    }
    this.#change(key, (group, now) => {
      // The last state says how the Pod ended, and may only arrive with the deletion.
      observePod(group, item, now);
      if (kind === "deleted") forgetPod(group, uid, now);
    });
  }

  objectChanged(change: Change<InPlaceRestart>): void {
    this.#change(change.key, (group, now) => {
      observeObject(group, change.kind === "deleted" ? undefined : change.item, now);
    });
  }

  /** Nodes or namespaces changed. This matters to groups that wait for a Pod, to terminate or to come back. */
  surroundingsChanged(): void {
    for (const [key, { jobSet, ending, object }] of this.#groups) {
      const isBetweenEpochs = object?.status !== undefined && !epochRuns(object.status);
      if (jobSet !== undefined && (ending.size > 0 || isBetweenEpochs)) this.#options.onChange(key);
    }
  }

  #change(key: string, observe: (group: Group, now: number) => void): void {
    const group = this.#groups.get(key) ?? newGroup(this.#options.surroundings);
    const hadJobSet = group.jobSet !== undefined;
    observe(group, this.#options.now());
    if (isEmpty(group)) this.#groups.delete(key);
    else this.#groups.set(key, group);
    if (hadJobSet || group.jobSet !== undefined) this.#options.onChange(key);
  }
}

/** By label. Labels can be forged, so the group itself verifies the owner of the Pod. */
function groupOf({ namespace, jobSetName }: Pod): string {
  return `${namespace}/${jobSetName}`;
}

function isEmpty({ jobSet, object, jobs, members }: Group): boolean {
  return jobSet === undefined && object === undefined && jobs.size === 0 && members.size === 0;
}
