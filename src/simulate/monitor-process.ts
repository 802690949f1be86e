// The part of an agent that watches the progress of its worker: the real decisions of agent/progress, with looks and
// writes that take virtual time.
import { type Judgment, judge, look, type Progress, startProgress } from "../../agent/progress/decide-progress.ts";
import type { HangReport } from "../api/hang-report.ts";
import type { World } from "./world.ts";

interface MonitorHost {
  readonly epoch: number;
  /** The steps of the worker. Undefined if it does not run. */
  look(): number | undefined;
  /** Writes the report to the Pod, or removes it. Runs at the server. False when there is no such Pod. */
  report(report: HangReport | undefined): boolean;
}

const LOOK_MS = 1_000;

export class MonitorProcess {
  readonly #world: World;
  readonly #host: MonitorHost;
  #progress: Progress;
  #alive = true;
  #isReporting = false;
  /** Undefined after a request that may have had its effect. */
  #reported: Judgment | undefined = "moving";

  constructor(world: World, host: MonitorHost) {
    this.#world = world;
    this.#host = host;
    this.#progress = startProgress({ kind: "absent" }, this.#time);
    this.#wait();
  }

  end(): void {
    this.#alive = false;
  }

  get #time() {
    return { mono: this.#world.schedule.now, wall: this.#world.clock };
  }

  #wait(): void {
    this.#world.schedule.after(LOOK_MS, () => this.#alive && this.#look());
  }

  #look(): void {
    const steps = this.#host.look();
    const sighting =
      steps === undefined || steps === 0 ? ABSENT : ({ kind: "seen", mark: `${steps}`, step: steps } as const);
    // A worker that has ended leaves its file behind.
    if (steps !== undefined) this.#progress = look(this.#progress, sighting, this.#time);
    this.#report();
    this.#wait();
  }

  #report(): void {
    const hangAfter = this.#world.training.hangAfterMs ?? Number.POSITIVE_INFINITY;
    const judgment = judge(this.#progress, { hangAfter });
    if (judgment === this.#reported || this.#isReporting) return;
    this.#isReporting = true;
    const { since, step } = this.#progress;
    const known = { epoch: this.#host.epoch, since, ...(step === undefined ? {} : { step }) };
    const report = judgment === "moving" ? undefined : { ...known, state: judgment };
    this.#world.api.request(
      () => (this.#host.report(report) ? "reported" : "not-found"),
      (answer) => {
        this.#isReporting = false;
        this.#reported = answer === "reported" ? judgment : undefined;
      },
    );
  }
}

const ABSENT = { kind: "absent" } as const;
