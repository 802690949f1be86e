// One incarnation of the controller: the real decisions of controller/decide.ts, fed by watches that lag and writing with
// requests that conflict, fail or land after the process has died.
import { type Decision, decide } from "../../controller/decide.ts";
import { type Group, newGroup } from "../../controller/group/group.ts";
import {
  forgetJob,
  forgetPod,
  noteReported,
  observeJob,
  observeJobSet,
  observeObject,
  observePod,
} from "../../controller/group/observe.ts";
import { type InPlaceRestart, readInPlaceRestart } from "../api/in-place-restart.ts";
import { DEFAULT_RESTART_POLICY } from "../api/restart-policy.ts";
import type { Refusal, StoredObject } from "./api-server.ts";
import { JOB_SET, type Workload } from "./workload.ts";
import type { World } from "./world.ts";

export class ControllerProcess {
  readonly #world: World;
  readonly #workload: Workload;
  readonly #name: string;
  readonly #group: Group = newGroup();
  readonly #stops: (() => void)[] = [];
  #alive = true;
  #leads = false;
  #planned = false;
  #writing = false;
  #wakeAt = Number.POSITIVE_INFINITY;

  constructor(world: World, workload: Workload, name: string) {
    this.#world = world;
    this.#workload = workload;
    this.#name = name;
    world.tell(name, "starts");
    this.#list();
  }

  /** The process is killed. What it has sent may still arrive. */
  kill(): void {
    this.#alive = false;
    for (const stop of this.#stops) stop();
    this.#world.tell(this.#name, "is killed");
  }

  /** A list of everything, then watches. Decisions begin when all lists are in. */
  #list(): void {
    const { api } = this.#world;
    api.request(
      () => ({ ok: true }),
      (answer) => {
        if (!this.#alive) return;
        if (typeof answer === "string") {
          this.#world.after(200, 1_000, () => this.#alive && this.#list());
          return;
        }
        const now = this.#world.clock;
        const lists = [
          () => {
            for (const jobSet of api.list("jobSet")) observeJobSet(this.#group, jobSet, now);
          },
          () => {
            for (const job of api.list("job")) observeJob(this.#group, job, now);
          },
          () => {
            for (const pod of api.list("pod")) observePod(this.#group, pod, now);
          },
          () => {
            for (const object of api.list("object")) this.#observeObject(object);
          },
        ];
        // Nothing is promised about which kind is read first.
        while (lists.length > 0) lists.splice(this.#world.random.integer(0, lists.length - 1), 1)[0]?.();
        this.#watch();
        this.#leads = true;
        this.#plan();
      },
    );
  }

  #watch(): void {
    const { api } = this.#world;
    this.#stops.push(
      api.watch("jobSet", ({ type, value }) => {
        observeJobSet(this.#group, type === "deleted" ? undefined : value, this.#world.clock);
        this.#plan();
      }),
      api.watch("job", ({ type, value }) => {
        if (type === "deleted") forgetJob(this.#group, value.uid, this.#world.clock);
        else observeJob(this.#group, value, this.#world.clock);
        this.#plan();
      }),
      api.watch("pod", ({ type, value }) => {
        if (type === "deleted") forgetPod(this.#group, value.uid, this.#world.clock);
        else observePod(this.#group, value, this.#world.clock);
        this.#plan();
      }),
      api.watch("object", ({ type, value }) => {
        if (type === "deleted") this.#observeDeleted(value);
        else this.#observeObject(value);
        this.#plan();
      }),
    );
  }

  #observeObject(stored: StoredObject): void {
    observeObject(this.#group, readInPlaceRestart(stored), this.#world.clock);
  }

  #observeDeleted({ metadata }: StoredObject): void {
    if (this.#group.object?.uid === metadata.uid) observeObject(this.#group, undefined, this.#world.clock);
  }

  #plan(): void {
    if (this.#planned || !this.#alive || !this.#leads) return;
    this.#planned = true;
    this.#world.after(0, 10, () => {
      this.#planned = false;
      if (this.#alive && !this.#writing) this.#decide();
    });
  }

  #decide(): void {
    const { decision, reports, wakeAt } = decide(this.#group, this.#world.clock, DEFAULT_RESTART_POLICY);
    for (const { pod, text } of reports) noteReported(this.#group, pod.uid, text);
    if (wakeAt !== undefined && wakeAt < this.#wakeAt) {
      this.#wakeAt = wakeAt;
      this.#world.schedule.after(wakeAt - this.#world.clock, () => {
        this.#wakeAt = Number.POSITIVE_INFINITY;
        this.#plan();
      });
    }
    if (decision !== undefined) this.#carryOut(decision);
  }

  #carryOut(decision: Decision): void {
    this.#writing = true;
    const { object } = this.#group;
    this.#world.api.request(
      () => this.#atServer(decision, object),
      () => {
        if (!this.#alive) return;
        this.#writing = false;
        // Only the watch tells what became of it: an answer may be older than what the watch has shown since. Until then
        // the same decision is made again, and refused because its view is old.
        this.#world.after(20, 200, () => this.#plan());
      },
    );
  }

  #atServer(decision: Decision, object: InPlaceRestart | undefined): "done" | Refusal {
    const { api } = this.#world;
    const stored = api.get("object", JOB_SET);
    switch (decision.kind) {
      case "create": {
        if (stored !== undefined) return "exists";
        const metadata = {
          name: JOB_SET,
          namespace: "default",
          uid: this.#world.uid("object"),
          resourceVersion: api.nextVersion(),
        };
        this.#world.tell(this.#name, "creates the InPlaceRestart");
        return this.#store({ metadata, spec: { jobSetUID: decision.jobSetUid } });
      }
      case "delete":
        if (stored?.metadata.uid !== decision.object.uid) return "not-found";
        this.#world.tell(this.#name, "deletes the InPlaceRestart of an earlier JobSet");
        api.delete("object", JOB_SET);
        return "done";
      case "fail": {
        const jobSet = api.get("jobSet", JOB_SET);
        if (jobSet?.uid !== this.#group.jobSet?.uid || jobSet === undefined) return "not-found";
        this.#world.tell(this.#name, `fails the JobSet: ${decision.message}`);
        api.set("jobSet", JOB_SET, { ...jobSet, outcome: "Failed", resourceVersion: api.nextVersion() });
        if (decision.status === undefined) return "done";
        return this.#write(decision.status, stored, object);
      }
      case "delete-pod":
        this.#world.tell(this.#name, `deletes Pod ${decision.pod.name}`);
        return this.#workload.deletePod(decision.pod.uid, { disrupted: false, forced: false }) ? "done" : "not-found";
      case "fail-job":
        this.#world.tell(this.#name, `fails Job ${decision.job.name}`);
        return this.#workload.failJob(decision.job.uid) ? "done" : "not-found";
      case "write":
        return this.#write(decision.status, stored, object);
    }
  }

  #write(
    status: NonNullable<StoredObject["status"]>,
    stored: StoredObject | undefined,
    object: InPlaceRestart | undefined,
  ): "done" | Refusal {
    if (stored === undefined) return "not-found";
    if (stored.metadata.resourceVersion !== object?.resourceVersion) return "conflict";
    this.#world.tell(this.#name, describe(stored.status, status));
    const resourceVersion = this.#world.api.nextVersion();
    return this.#store({ ...stored, metadata: { ...stored.metadata, resourceVersion }, status });
  }

  #store(after: StoredObject): "done" {
    this.#world.judge.objectWritten(this.#world.api.get("object", JOB_SET), after);
    this.#world.api.set("object", JOB_SET, after);
    return "done";
  }
}

function describe(before: StoredObject["status"], after: NonNullable<StoredObject["status"]>): string {
  const { deprecatedEpoch, syncedEpoch, restarts, heldStages, phase, ready } = after;
  const waiting = heldStages.length === 0 ? "" : `, held ${heldStages.join(" ")}`;
  const what =
    before === undefined
      ? "initialises"
      : before.syncedEpoch !== syncedEpoch
        ? "syncs"
        : before.deprecatedEpoch !== deprecatedEpoch
          ? "deprecates"
          : "notes";
  const cause = after.history.at(-1)?.cause;
  const why = what === "deprecates" && cause !== undefined ? ` (${cause.reason} ${cause.pod ?? ""})` : "";
  return `${what}: deprecated ${deprecatedEpoch}, synced ${syncedEpoch}${waiting}, restarts ${restarts}, ${phase} ${ready}${why}`;
}
