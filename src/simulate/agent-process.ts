// One process of an agent: the real decisions of agent/decide.ts, with a watch and a write that take virtual time.
import { type Action, type AgentState, advance, decide, newAgent, viewGroupEpoch } from "../../agent/decide.ts";
import { afterAnswer, mayStartAlone, type Removal } from "../../agent/decide-removed.ts";
import type { Change } from "./api-server.ts";
import type { World } from "./world.ts";

interface AgentHost {
  readonly pod: string;
  readonly jobSetUid: string;
  readonly replicatedJob: string;
  /** Writes the epoch to the Pod. Runs at the server. False when there is no such Pod. */
  publish(epoch: number): boolean;
  lifted(epoch: number, isAlone: boolean): void;
  /** What this agent or an earlier one of the Pod knows about the removal of reprise. */
  removal(): Removal | undefined;
  noteRemoval(removal: Removal | undefined): void;
  exited(): void;
}

/** The pause between two such requests. */
const CHECK_MS = 10_000;

export class AgentProcess {
  readonly #world: World;
  readonly #host: AgentHost;
  #state: AgentState;
  #alive = true;
  /** An epoch is being published. */
  #busy = false;
  /** What the watch has shown, once its list has arrived. */
  #latest: { readonly object: unknown } | undefined;
  #stopWatch: () => void = () => {};
  /** The API server has said for long enough that the type is gone. */
  #isRemoved = false;

  constructor(world: World, host: AgentHost) {
    this.#world = world;
    this.#host = host;
    this.#state = newAgent({ jobSetUid: host.jobSetUid, replicatedJob: host.replicatedJob });
    this.#watch();
    this.#checkType();
  }

  /** Asks from time to time whether the API server still serves the type. */
  #checkType(): void {
    const { api, clock, isRemoved } = this.#world;
    const answer = api.isDown ? "unknown" : isRemoved ? "gone" : "served";
    const removal = afterAnswer(this.#host.removal(), answer, clock / 1_000);
    this.#host.noteRemoval(removal);
    this.#isRemoved = mayStartAlone(removal, answer);
    if (this.#isRemoved && !this.#busy) this.#act();
    this.#world.schedule.after(CHECK_MS, () => this.#alive && this.#checkType());
  }

  /** The process ends and does nothing more. */
  end(): void {
    this.#alive = false;
    this.#stopWatch();
  }

  /** A consistent list, and then every change. */
  #watch(): void {
    const { api } = this.#world;
    api.request(
      () => ({ object: api.get("groupEpoch", this.#host.jobSetUid) }),
      (answer) => {
        if (!this.#alive) return;
        if (typeof answer === "string") this.#world.after(50, 500, () => this.#alive && this.#watch());
        else {
          this.#stopWatch = api.watch("groupEpoch", (change) => this.#seen(change));
          this.#see(answer.object);
        }
      },
    );
  }

  #seen(change: Change<"groupEpoch">): void {
    if (change.value.metadata.name !== this.#host.jobSetUid) return;
    this.#see(change.type === "deleted" ? undefined : change.value);
  }

  #see(object: unknown): void {
    this.#latest = { object };
    if (!this.#busy) this.#act();
  }

  /** Performs every action that the last view calls for. */
  #act(): void {
    if (this.#latest === undefined) return;
    const seen = viewGroupEpoch(this.#latest.object);
    const action = decide(this.#state, this.#isRemoved ? { kind: "removed" } : seen);
    switch (action.kind) {
      case "wait":
        return;
      case "take":
        this.#done(action);
        return;
      case "publish":
        this.#publish(action);
        return;
      case "lift":
        this.#world.tell(this.#host.pod, `barrier lifted at epoch ${this.#state.epoch}`);
        this.#done(action);
        this.#host.lifted(this.#state.epoch ?? 0, action.alone === true);
        return;
      case "restart":
        this.#world.tell(this.#host.pod, `agent exits: epoch ${this.#state.epoch} is deprecated`);
        this.end();
        this.#host.exited();
        return;
    }
  }

  #publish(action: Action & { kind: "publish" }): void {
    this.#busy = true;
    this.#world.api.request(
      () => (this.#host.publish(action.epoch) ? "published" : "not-found"),
      (answer) => {
        if (!this.#alive) return;
        if (answer === "published") {
          this.#busy = false;
          this.#done(action);
        } else
          this.#world.after(50, 500, () => {
            this.#busy = false;
            if (this.#alive) this.#act();
          });
      },
    );
  }

  #done(action: Action): void {
    this.#state = advance(this.#state, action);
    this.#act();
  }
}
