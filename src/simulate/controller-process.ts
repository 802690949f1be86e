// One process of the controller: the real groups and decisions, fed by watches that lag, and writing with requests that
// conflict, fail, or land after the process was killed.
import { decide } from "../../controller/decide.ts";
import { execute } from "../../controller/execute.ts";
import { Groups } from "../../controller/group/groups.ts";
import { noteReported } from "../../controller/group/observe.ts";
import { HEALTHY_CLUSTER } from "../../controller/stuck-pods/surroundings.ts";
import { afterTelling, epochsFor, nextTelling, type Told } from "../../controller/tell-agents.ts";
import { type InPlaceRestart, readInPlaceRestart } from "../api/in-place-restart.ts";
import type { JobSet } from "../api/jobset.ts";
import { DEFAULT_RESTART_POLICY } from "../api/restart-policy.ts";
import { type AtServer, type ControlledCluster, simulatedWrites } from "./controller-writes.ts";
import { createGroupEpoch, patchGroupEpoch } from "./group-epoch-writes.ts";
import { Informer } from "./informer.ts";
import { GROUP_KEY } from "./shape.ts";
import type { World } from "./world.ts";

export class ControllerProcess {
  readonly #world: World;
  readonly #cluster: ControlledCluster;
  readonly #name: string;
  readonly #groups: Groups;
  readonly #informers: readonly Pick<Informer<"pod", never>, "list" | "watch">[];
  readonly #stops: (() => void)[] = [];
  #alive = true;
  #leads = false;
  /** The group changed, or its last decision is not visible yet. */
  #due = false;
  #planned = false;
  #writing = false;
  #wakeAt = Number.POSITIVE_INFINITY;
  #told: Told | undefined;

  constructor(cluster: ControlledCluster, name: string) {
    const { world } = cluster;
    this.#world = world;
    this.#cluster = cluster;
    this.#name = name;
    const onChange = () => {
      this.#due = true;
    };
    const surroundings = { ...HEALTHY_CLUSTER, unreachable: world.unreachable };
    const groups = new Groups({ onChange, now: () => world.clock, surroundings });
    this.#groups = groups;
    const { api } = world;
    this.#informers = [
      new Informer(api, "jobSet", same, (change) => groups.jobSetChanged(change)),
      new Informer(api, "job", same, (change) => groups.jobChanged(change)),
      new Informer(api, "pod", same, (change) => groups.podChanged(change)),
      new Informer(api, "object", readInPlaceRestart, (change) => groups.objectChanged(change)),
    ];
    world.tell(name, "starts");
    this.#list();
  }

  /** The process is killed. Requests it has sent may still arrive. */
  kill(): void {
    this.#alive = false;
    for (const stop of this.#stops) stop();
    this.#world.tell(this.#name, "is killed");
  }

  /** A node was lost, or is back. */
  nodesChanged(): void {
    this.#groups.surroundingsChanged();
    this.#plan();
  }

  /** Lists everything, then watches. Decides nothing before every list is there. */
  #list(): void {
    this.#world.api.request(
      () => "listed",
      (answer) => {
        if (!this.#alive) return;
        if (answer !== "listed") {
          this.#world.after(200, 1_000, () => this.#alive && this.#list());
          return;
        }
        const unlisted = [...this.#informers];
        // Lists of different kinds complete in any order.
        while (unlisted.length > 0) unlisted.splice(this.#world.random.integer(0, unlisted.length - 1), 1)[0]?.list();
        this.#stops.push(...this.#informers.map((informer) => informer.watch(() => this.#plan())));
        this.#leads = true;
        this.#plan();
      },
    );
  }

  #plan(): void {
    if (this.#planned || !this.#alive || !this.#leads) return;
    this.#planned = true;
    this.#world.after(0, 10, () => {
      this.#planned = false;
      if (this.#alive && this.#due && !this.#writing) this.#reconcile();
    });
  }

  #reconcile(): void {
    const group = this.#groups.get(GROUP_KEY);
    if (group === undefined) return;
    const { jobSet, object } = group;
    const { decision, rule, reports, wakeAt } = decide(group, this.#world.clock, DEFAULT_RESTART_POLICY);
    for (const { pod, reason, text } of reports) noteReported(group, pod.uid, reason, text);
    if (wakeAt !== undefined) this.#wake(wakeAt);
    this.#due = decision !== undefined;
    if (jobSet === undefined) return;
    if (decision === undefined) {
      this.#tellAgents(jobSet, object);
      return;
    }
    const tell = (what: string) => this.#world.tell(this.#name, rule === undefined ? what : `${what} [${rule}]`);
    let latest = object;
    const writes = simulatedWrites(this.#cluster, tell, (written) => {
      latest = written;
    });
    this.#send(execute(decision, { jobSet, object }, writes), () => this.#tellAgents(jobSet, latest));
  }

  #wake(at: number): void {
    if (at >= this.#wakeAt) return;
    this.#wakeAt = at;
    this.#world.schedule.after(at - this.#world.clock, () => {
      this.#wakeAt = Number.POSITIVE_INFINITY;
      this.#due = true;
      this.#plan();
    });
  }

  /** One request per write: the controller may be killed between two of them. */
  #send(writes: Iterator<AtServer>, andThen: () => void): void {
    const { done, value: atServer } = writes.next();
    this.#writing = done !== true;
    if (done === true) {
      andThen();
      this.#retry();
      return;
    }
    this.#world.api.request(atServer, (answer) => {
      if (!this.#alive) return;
      if (answer === "done") this.#send(writes, andThen);
      else {
        this.#writing = false;
        this.#retry();
      }
    });
  }

  /** As the controller's shell does after every reconcile. */
  #tellAgents(jobSet: JobSet, object: InPlaceRestart | undefined): void {
    const epochs = epochsFor(jobSet, object);
    if (object === undefined || epochs === undefined || jobSet.outcome !== "none") return;
    const now = this.#world.clock;
    const telling = nextTelling(object.uid, epochs, this.#told, now);
    if (telling.kind === "rest") {
      this.#wake(now + telling.ms);
      return;
    }
    const stored = { metadata: { name: jobSet.uid, owner: object.uid }, spec: telling.epochs };
    const answered = (answer: ReturnType<AtServer>) => {
      if (!this.#alive) return;
      this.#writing = false;
      if (answer === "done") this.#told = afterTelling(object.uid, telling.epochs, this.#told, this.#world.clock);
      this.#due = true;
      this.#retry();
    };
    this.#writing = true;
    this.#world.api.request(patchGroupEpoch(this.#world, stored), (answer) => {
      if (answer !== "not-found") answered(answer);
      else if (this.#alive) this.#world.api.request(createGroupEpoch(this.#world, stored), answered);
    });
  }

  /** Only the watch shows the result. Until then the same decision is made again, and refused as stale. */
  #retry(): void {
    this.#world.after(20, 200, () => this.#plan());
  }
}

function same<T>(stored: T): T {
  return stored;
}
