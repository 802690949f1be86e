// Sends the status of one Pod from its kubelet to the API server. A status that was not sent yet is replaced by the
// next one, so that intermediate states may never be seen.
import { type PodStatus, withStatus } from "./pod-status.ts";
import type { World } from "./world.ts";

export class StatusReporter {
  readonly #world: World;
  readonly #uid: string;
  #unsent: PodStatus | undefined;
  #stopped = false;

  constructor(world: World, uid: string) {
    this.#world = world;
    this.#uid = uid;
  }

  get unsent(): PodStatus | undefined {
    return this.#unsent;
  }

  report(status: PodStatus): void {
    const waits = this.#unsent !== undefined;
    this.#unsent = status;
    // Usually at once. A busy kubelet sometimes takes long enough for a whole restart to pass.
    const most = this.#world.random.chance(0.15) ? 5_000 : 100;
    if (!waits) this.#world.after(5, most, () => this.#send());
  }

  stop(): void {
    this.#stopped = true;
  }

  #send(): void {
    const { api } = this.#world;
    if (this.#stopped) return;
    api.request(
      () => {
        const pod = api.get("pod", this.#uid);
        const status = this.#unsent;
        this.#unsent = undefined;
        if (pod === undefined || status === undefined) return "not-found";
        api.set("pod", this.#uid, { ...withStatus(pod, status), resourceVersion: api.nextVersion() });
        return "sent";
      },
      (answer) => {
        if (answer === "unreachable" && !this.#stopped) this.#world.after(200, 1_000, () => this.#send());
      },
    );
  }
}
