// Judges whether the JobSet's own policies keep their meaning in a simulated run. It looks at what is stored and at
// what the controller writes, and knows the policies from the shape of the run, not from the controller.
import type { RestartRecord } from "../api/in-place-restart.ts";
import type { FailureRule } from "../api/jobset.ts";
import type { StoredObject } from "./api-server.ts";
import { JOB_SET, type JobSetShape } from "./shape.ts";

/** A watch shows a change within 20 ms, and a decision and its request take as long again. */
const VISIBLE_MS = 100;

interface PolicyWorld {
  /** Milliseconds since the start. */
  readonly now: () => number;
  /** Whether watches show every change at once. */
  readonly isSteady: () => boolean;
  readonly breach: (what: string) => void;
}

export class PolicyJudge {
  readonly #shape: JobSetShape;
  readonly #world: PolicyWorld;
  #succeededAt: number | undefined;

  constructor(shape: JobSetShape, world: PolicyWorld) {
    this.#shape = shape;
    this.#world = world;
  }

  /** The Jobs show whether the success policy is met. */
  successSeen(isMet: boolean): void {
    if (!isMet) this.#succeededAt = undefined;
    else this.#succeededAt ??= this.#world.now();
  }

  objectWritten(before: StoredObject | undefined, after: StoredObject): void {
    const [old, status] = [before?.status, after.status];
    if (old === undefined || status === undefined) return;
    const last = status.history.at(-1);
    if (this.#mustRest()) {
      // An epoch that a suspension closes has no record: its Pods are gone.
      const isRestart = status.deprecatedEpoch > old.deprecatedEpoch && last !== undefined && last.synced === undefined;
      if (isRestart) this.#world.breach("restarted after the targets had succeeded");
      if (status.restarts > old.restarts) this.#world.breach("counted a restart after the targets had succeeded");
    }
    const isOrdered = status.deprecatedEpoch > old.deprecatedEpoch;
    const code = last?.cause.exitCode ?? 0;
    if (isOrdered && this.#shape.policies?.failCodes?.includes(code) === true && last?.action !== "FailJobSet")
      this.#world.breach(`restarted after exit code ${code} of ${last?.cause.pod}, which is final`);
    if (last === undefined || status.syncedEpoch === old.syncedEpoch) return;
    const rule = this.#ruleFor(last);
    if (rule?.action.endsWith("IgnoreMaxRestarts") === true && status.restarts > old.restarts)
      this.#world.breach(`counted the failure of ${last.cause.pod}, which rule ${rule.name} exempts`);
    if (rule?.action === "FailJobSet" && last.cause.exitCode === 1 && this.#retriesOf(last) === 0)
      this.#world.breach(`restarted after the failure of ${last.cause.pod}, which rule ${rule.name} makes final`);
  }

  jobSetFailed(reason: string): void {
    if (this.#mustRest()) this.#world.breach("failed the JobSet after the targets had succeeded");
    const isRuled = this.#shape.policies?.rules?.some(({ action }) => action === "FailJobSet") === true;
    if (reason === "FailJobSetFailurePolicyAction" && !isRuled)
      this.#world.breach("failed the JobSet by a rule that does not exist");
  }

  /** The targets have succeeded for so long that every watch has shown it. */
  #mustRest(): boolean {
    const { now, isSteady } = this.#world;
    return this.#succeededAt !== undefined && isSteady() && now() > this.#succeededAt + VISIBLE_MS;
  }

  /** The rule for the crash that this record is about. Disruptions and deletions match none. */
  #ruleFor({ cause }: RestartRecord): FailureRule | undefined {
    const stage = this.#stageOf(cause.pod);
    if (stage === undefined || cause.reason !== "ContainerExited") return undefined;
    return this.#shape.policies?.rules?.find(
      ({ targetReplicatedJobs: targets }) => targets.length === 0 || targets.includes(stage),
    );
  }

  #retriesOf({ cause }: RestartRecord): number | undefined {
    return this.#shape.policies?.backoffLimits?.[this.#stageOf(cause.pod) ?? ""];
  }

  #stageOf(pod = ""): string | undefined {
    return this.#shape.stages.map(({ name }) => name).find((name) => pod.startsWith(`${JOB_SET}-${name}-`));
  }
}
