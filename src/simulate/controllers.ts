// The controller's replicas in a simulation, of which one leads.
import { ControllerProcess } from "./controller-process.ts";
import type { ControlledCluster } from "./controller-writes.ts";

export class Controllers {
  readonly #cluster: ControlledCluster;
  #leader: ControllerProcess;
  #started = 1;

  constructor(cluster: ControlledCluster) {
    this.#cluster = cluster;
    this.#leader = new ControllerProcess(cluster, "controller-1");
  }

  /** The leader is killed, and another replica starts to lead seconds later. */
  killLeader(): void {
    this.#leader.kill();
    const name = this.#nextName();
    this.#cluster.world.after(500, 6_000, () => {
      this.#leader = new ControllerProcess(this.#cluster, name);
    });
  }

  /** Another replica leads at once, while the old leader has not yet noticed that it lost its lease. */
  overlapLeaders(overlapMs: number): void {
    const old = this.#leader;
    this.#leader = new ControllerProcess(this.#cluster, this.#nextName());
    this.#cluster.world.schedule.after(overlapMs, () => old.kill());
  }

  /** reprise is removed: no other replica starts. */
  remove(): void {
    this.#leader.kill();
  }

  /** A node was lost, or is back. */
  nodesChanged(): void {
    this.#leader.nodesChanged();
  }

  #nextName(): string {
    this.#started += 1;
    return `controller-${this.#started}`;
  }
}
