// One Pod on a hollow kubelet: its restarts in place, and the order of its status reports. Of reports that wait to be
// sent only the latest is, as in the kubelet's status manager.
import type { PodShape } from "./pod-shape.ts";
import { type Run, type Stage, statusPatch } from "./pod-status.ts";

/**
 * The times of a kubelet. It looks at its containers once a second, and probes once a second, at phases of its own. The
 * others are those of a small Pod on a node with CPU time to spare.
 */
const LOOK_MS = 1_000;
const PROBE_MS = 1_000;
const REMOVE_MS = 150;
const START_MS = 150;

export interface PodEffects {
  /** Retries until the API server has taken it. */
  report(pod: PodShape, patch: object): Promise<void>;
  startAgent(agent: string, pod: PodShape): void;
  killAgent(agent: string): void;
  sleep(ms: number): Promise<void>;
}

export class HollowPod {
  readonly shape: PodShape;
  readonly #address: string;
  readonly #effects: PodEffects;
  #run: Run = { restarts: 0, agentStarted: new Date(), workersStarted: new Date() };
  #next: { readonly stage: Stage; readonly patch: object } | undefined;
  #isReporting = false;
  #reported: Stage["kind"] | undefined;
  #agent = "";
  #isRestarting = false;
  #resume: Promise<void> | undefined;
  #publishedAt: number | undefined;
  #liftedAt: number | undefined;

  /** `index` is among all Pods of the node. */
  constructor(shape: PodShape, index: number, effects: PodEffects) {
    this.shape = shape;
    this.#address = `10.203.${index >> 8}.${index & 255}`;
    this.#effects = effects;
  }

  /** How often its containers were restarted. */
  get restarts(): number {
    return this.#run.restarts;
  }

  /** When the agent that runs now lifted its barrier. */
  get liftedAt(): number | undefined {
    return this.#liftedAt;
  }

  /** When the agent that runs now started, and when it had published its epoch. */
  get agentStartedAt(): number {
    return this.#run.agentStarted.getTime();
  }

  get publishedAt(): number | undefined {
    return this.#publishedAt;
  }

  /** Whether the API server knows that its workers run. */
  get isReported(): boolean {
    return this.#reported === "running" && !this.#isReporting && this.#liftedAt !== undefined;
  }

  start(): void {
    this.#startAgent();
  }

  /** Its worker exits. */
  fail(exitCode: number): void {
    void this.#restart(this.shape.workers[0] ?? "", exitCode);
  }

  /** At its next restart, its agent does not start before this resolves. */
  hold(until: Promise<void>): void {
    this.#resume = until;
  }

  agentPublished(agent: string, at: number): void {
    if (agent === this.#agent) this.#publishedAt = at;
  }

  async agentLifted(agent: string, at: number): Promise<void> {
    if (agent !== this.#agent) return;
    this.#liftedAt = at;
    await this.#effects.sleep((this.shape.hasStartupProbe ? Math.random() * PROBE_MS : 0) + START_MS);
    if (agent !== this.#agent || this.#isRestarting) return;
    this.#run = { ...this.#run, workersStarted: new Date() };
    this.#report({ kind: "running" });
  }

  agentExited(agent: string, exitCode: number): void {
    if (agent === this.#agent) void this.#restart(this.shape.agent, exitCode);
  }

  async #restart(container: string, exitCode: number): Promise<void> {
    if (this.#isRestarting) return;
    this.#isRestarting = true;
    await this.#effects.sleep(Math.random() * LOOK_MS);
    this.#report({ kind: "exited", container, exitCode });
    await this.#effects.sleep(REMOVE_MS);
    this.#effects.killAgent(this.#agent);
    this.#agent = "";
    this.#liftedAt = undefined;
    this.#publishedAt = undefined;
    this.#run = { ...this.#run, restarts: this.#run.restarts + 1 };
    this.#report({ kind: "removed" });
    await this.#resume;
    this.#resume = undefined;
    await this.#effects.sleep(START_MS);
    this.#isRestarting = false;
    this.#startAgent();
  }

  #startAgent(): void {
    this.#agent = `${this.shape.name}#${this.#run.restarts}`;
    this.#run = { ...this.#run, agentStarted: new Date() };
    this.#effects.startAgent(this.#agent, this.shape);
    if (this.shape.hasStartupProbe) this.#report({ kind: "held" });
  }

  #report(stage: Stage): void {
    this.#next = { stage, patch: statusPatch(this.shape, stage, { ...this.#run, address: this.#address }, new Date()) };
    if (!this.#isReporting) void this.#send();
  }

  async #send(): Promise<void> {
    this.#isReporting = true;
    for (let next = this.#next; next !== undefined; next = this.#next) {
      this.#next = undefined;
      await this.#effects.report(this.shape, next.patch);
      this.#reported = next.stage.kind;
    }
    this.#isReporting = false;
  }
}
