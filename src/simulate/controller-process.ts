// One incarnation of the controller: the real decisions of controller/decide.ts, fed by watches that lag and writing with
// requests that conflict, fail or land after the process has died.
import { decide } from "../../controller/decide.ts";
import { execute } from "../../controller/execute.ts";
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
import { readInPlaceRestart } from "../api/in-place-restart.ts";
import { DEFAULT_RESTART_POLICY } from "../api/restart-policy.ts";
import type { StoredObject } from "./api-server.ts";
import { type AtServer, simulatedWrites } from "./controller-writes.ts";
import type { Workload } from "./workload.ts";
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
    const { jobSet, object } = this.#group;
    const { decision, rule, reports, wakeAt } = decide(this.#group, this.#world.clock, DEFAULT_RESTART_POLICY);
    for (const { pod, text } of reports) noteReported(this.#group, pod.uid, text);
    if (wakeAt !== undefined && wakeAt < this.#wakeAt) {
      this.#wakeAt = wakeAt;
      this.#world.schedule.after(wakeAt - this.#world.clock, () => {
        this.#wakeAt = Number.POSITIVE_INFINITY;
        this.#plan();
      });
    }
    if (decision === undefined || jobSet === undefined) return;
    const tell = (what: string) => this.#world.tell(this.#name, rule === undefined ? what : `${what} [${rule}]`);
    this.#send(execute(decision, { jobSet, object }, simulatedWrites(this.#world, this.#workload, tell)));
  }

  /** One request per write: the controller may be killed between two of them. */
  #send(writes: Iterator<AtServer>): void {
    const { done, value: atServer } = writes.next();
    this.#writing = done !== true;
    if (done === true) {
      this.#retry();
      return;
    }
    this.#world.api.request(atServer, (answer) => {
      if (!this.#alive) return;
      if (answer === "done") this.#send(writes);
      else {
        this.#writing = false;
        this.#retry();
      }
    });
  }

  /** Only the watch shows the result. Until then the same decision is made again, and refused as stale. */
  #retry(): void {
    this.#world.after(20, 200, () => this.#plan());
  }
}
