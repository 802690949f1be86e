// One process of an agent: the real decisions of agent/decide.ts, with requests and a watch that take virtual time.
import { type Action, type AgentState, advance, decide, newAgent, viewInPlaceRestart } from "../../agent/decide.ts";
import type { Change } from "./api-server.ts";
import type { World } from "./world.ts";

interface AgentHost {
  readonly pod: string;
  readonly jobSetName: string;
  readonly jobSetUid: string;
  readonly replicatedJob: string;
  /** The epoch that the Pod's last agent kept. */
  readonly kept: number | undefined;
  keep(epoch: number): void;
  /** Writes the epoch to the Pod. Runs at the server. False when there is no such Pod. */
  publish(epoch: number): boolean;
  lifted(epoch: number): void;
  exited(): void;
}

export class AgentProcess {
  readonly #world: World;
  readonly #host: AgentHost;
  #state: AgentState;
  #alive = true;
  /** The real agent also has at most one request in flight. */
  #busy = false;
  #latest: unknown;
  #stopWatch: () => void = () => {};

  constructor(world: World, host: AgentHost) {
    this.#world = world;
    this.#host = host;
    this.#state = newAgent({ jobSetUid: host.jobSetUid, replicatedJob: host.replicatedJob }, host.kept);
    this.#read();
  }

  /** The process ends and does nothing more. */
  end(): void {
    this.#alive = false;
    this.#stopWatch();
  }

  #read(): void {
    this.#busy = true;
    const { api } = this.#world;
    api.request(
      () => ({ object: api.get("object", this.#host.jobSetName) }),
      (answer) => {
        if (!this.#alive) return;
        this.#busy = false;
        if (typeof answer === "string") {
          this.#world.after(50, 500, () => this.#alive && this.#read());
          return;
        }
        this.#stopWatch();
        this.#latest = answer.object;
        this.#settle(answer.object, true);
        if (this.#alive) this.#stopWatch = api.watch("object", (change) => this.#seen(change));
      },
    );
  }

  #seen(change: Change<"object">): void {
    this.#latest = change.type === "deleted" ? undefined : change.value;
    if (!this.#busy) this.#settle(this.#latest, false);
  }

  #settle(raw: unknown, consistent: boolean): void {
    const action = decide(this.#state, viewInPlaceRestart(raw, this.#state, consistent));
    switch (action.kind) {
      case "wait":
        return;
      case "read":
        this.#read();
        return;
      case "take":
        this.#done(action, raw, consistent);
        return;
      case "publish":
        this.#publish(action, raw, consistent);
        return;
      case "lift":
        this.#world.tell(this.#host.pod, `barrier lifted at epoch ${this.#state.epoch}`);
        this.#done(action, raw, consistent);
        this.#host.lifted(this.#state.epoch ?? 0);
        return;
      case "restart":
        this.#world.tell(this.#host.pod, `agent exits: epoch ${this.#state.epoch} is deprecated`);
        this.end();
        this.#host.exited();
        return;
    }
  }

  #publish(action: Action & { kind: "publish" }, raw: unknown, consistent: boolean): void {
    this.#busy = true;
    this.#host.keep(action.epoch);
    this.#world.api.request(
      () => (this.#host.publish(action.epoch) ? "published" : "not-found"),
      (answer) => {
        if (!this.#alive) return;
        this.#busy = false;
        if (answer === "published") {
          this.#done(action, raw, consistent);
          // Act on what was seen during the request.
          if (this.#alive && this.#latest !== raw) this.#settle(this.#latest, false);
        } else this.#world.after(50, 500, () => this.#alive && !this.#busy && this.#settle(this.#latest, false));
      },
    );
  }

  #done(action: Action, raw: unknown, consistent: boolean): void {
    this.#state = advance(this.#state, action);
    this.#settle(raw, consistent);
  }
}
