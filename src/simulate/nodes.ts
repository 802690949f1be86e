// The nodes of a simulation: which Pods have containers on them, and how a Pod ends.
import type { Pod } from "../api/pod.ts";
import { GRACE_MS, PodOnNode } from "./kubelet.ts";
import { type PodStatus, withStatus } from "./pod-status.ts";
import { NODES } from "./shape.ts";
import type { World } from "./world.ts";

export interface PodDeletion {
  /** An eviction, which sets the DisruptionTarget condition. */
  readonly disrupted: boolean;
  /** The object goes at once, without the kubelet. */
  readonly forced: boolean;
}

/** How often a worker fails when a peer has left. */
const PEER_FAILS = 0.3;

export class Nodes {
  readonly #world: World;
  readonly #onGone: (pod: Pod | undefined) => void;
  readonly #onNodes = new Map<string, PodOnNode>();

  /** `onGone` is called with the last stored state whenever a Pod is removed. */
  constructor(world: World, onGone: (pod: Pod | undefined) => void) {
    this.#world = world;
    this.#onGone = onGone;
  }

  /** Pods whose containers exist on some node. */
  get pods(): readonly PodOnNode[] {
    return [...this.#onNodes.values()];
  }

  uidOf(onNode: PodOnNode): string | undefined {
    for (const [uid, each] of this.#onNodes) if (each === onNode) return uid;
    return undefined;
  }

  /** The node for the next Pod. If all have lost power, one gets it back. */
  choose(number: number): string {
    const { poweredOff, unreachable } = this.#world;
    const up = NODES.filter((node) => !poweredOff.has(node));
    const node = (up.length === 0 ? NODES : up)[number % (up.length === 0 ? NODES.length : up.length)] ?? NODES[0];
    poweredOff.delete(node);
    unreachable.delete(node);
    return node;
  }

  start(pod: Pod, slot: string): void {
    this.#onNodes.set(pod.uid, new PodOnNode(this.#world, pod, slot));
  }

  /** As a DELETE or eviction request. False when there is no such Pod. */
  delete(uid: string, how: PodDeletion): boolean {
    const { api } = this.#world;
    const pod = api.get("pod", uid);
    if (pod === undefined) return false;
    if (pod.deletion !== undefined) return true;
    if (how.forced) {
      this.remove(uid);
      return true;
    }
    if (how.disrupted) this.#world.judge.podDisrupted(uid);
    const target = { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI", message: "" } as const;
    api.set("pod", uid, {
      ...pod,
      deletion: {
        timestamp: new Date(this.#world.clock + GRACE_MS).toISOString(),
        graceSeconds: GRACE_MS / 1_000,
      },
      conditions: how.disrupted ? [...pod.conditions, target] : pod.conditions,
      resourceVersion: api.nextVersion(),
    });
    this.#world.after(5, 200, () => {
      // A Pod whose node has no power stays terminating.
      const ended = (status: PodStatus | undefined) => this.remove(uid, status);
      this.#onNodes.get(uid)?.terminate(() => this.#losePeer(), ended);
    });
    return true;
  }

  /** A worker that has lost the connection to a peer may fail. */
  #losePeer(): void {
    const { random } = this.#world;
    if (random.chance(PEER_FAILS)) random.pick(this.pods.filter(({ hasWorker }) => hasWorker))?.losePeer();
  }

  /** The object is gone. The watches see its last state: with a deletion timestamp and without any grace left. */
  remove(uid: string, finalStatus?: PodStatus): void {
    const { api } = this.#world;
    const pod = api.get("pod", uid);
    this.#onNodes.get(uid)?.vanish();
    this.#onNodes.delete(uid);
    if (pod === undefined) {
      this.#onGone(undefined);
      return;
    }
    const timestamp = pod.deletion?.timestamp ?? new Date(this.#world.clock).toISOString();
    const deletion = { timestamp, graceSeconds: 0 };
    const last = finalStatus === undefined ? pod : withStatus(pod, finalStatus);
    api.delete("pod", uid, { ...last, deletion, resourceVersion: api.nextVersion() });
    this.#onGone(last);
  }

  /** The containers stop, and the kubelet reports nothing. The API server still has the Pod. */
  powerOff(uid: string): void {
    // A Pod that a user has deleted is lost anyway.
    if (this.#world.api.get("pod", uid)?.deletion === undefined) this.#world.judge.podDisrupted(uid);
    this.#onNodes.get(uid)?.vanish();
    this.#onNodes.delete(uid);
  }
}
