// Watches the Pods of one namespace and records, on one clock, when each was seen to change. It sees the status that
// the kubelet reports, whatever restarts the Pods.
import { AGENT } from "../../src/api/names.ts";
import { type Pod, readPod } from "../../src/api/pod.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { Reflector } from "../../src/kube/reflector.ts";
import { killContainers } from "../../test/cluster/container.ts";

/** The worker's container. */
export const WORKER = "trainer";
/** The agent's container in upstream's own protocol. */
export const UPSTREAM_AGENT = "in-place-restart-agent";

/** What happened in one slot, in seconds since the kill; NaN until it happens. */
export interface Lane {
  /** Its old worker was seen to have ended, or its Pod to be terminating. */
  readonly down: number;
  /** Its agent runs again; without agents, its new Pod was seen. */
  readonly back: number;
  /** Its worker runs again. */
  readonly up: number;
}

export interface Recovery {
  /** One per slot, the killed one first. */
  readonly lanes: readonly Lane[];
  readonly seconds: number;
  readonly newPods: number;
}

interface Observation {
  readonly at: number;
  readonly pod: Pod;
  readonly gone: boolean;
}

interface Kill {
  readonly began: number;
  /** The state before the kill: containers, Pods, and slots with the killed one first. */
  readonly old: ReadonlySet<string>;
  readonly uids: ReadonlySet<string>;
  readonly slots: readonly string[];
}

const LIMIT_MS = 120_000;

export class PodObserver {
  readonly #pods = new Map<string, Pod>();
  readonly #reflector: Reflector<Pod>;
  readonly #namespace: string;
  #observations: Observation[] = [];
  #kill: Kill | undefined;
  #onChange: () => void = () => {};

  constructor(client: KubeClient, namespace: string) {
    this.#namespace = namespace;
    this.#reflector = new Reflector({
      client,
      path: `/api/v1/namespaces/${namespace}/pods`,
      project: readPod,
      onChange: ({ kind, uid, item }) => {
        const gone = kind === "deleted";
        if (gone) this.#pods.delete(uid);
        else this.#pods.set(uid, item);
        this.#observations.push({ at: performance.now(), pod: item, gone });
        this.#onChange();
      },
      // It retries by itself; what it cannot see runs into the limit below.
      onError: () => {},
    });
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }

  /** Waits until this many workers run, none of them in one of the `except` containers. */
  async running(count: number, except: ReadonlySet<string> = new Set()): Promise<readonly Pod[]> {
    const found = () => {
      const pods = [...this.#pods.values()].filter((pod) => isUp(pod, except));
      return pods.length === count && this.#pods.size === count ? pods : undefined;
    };
    return await new Promise((resolve, reject) => {
      const limit = setTimeout(
        () => reject(new Error(`${count} workers in ${this.#namespace} did not start: ${this.#describe()}`)),
        LIMIT_MS,
      );
      this.#onChange = () => {
        const pods = found();
        if (pods === undefined) return;
        clearTimeout(limit);
        this.#onChange = () => {};
        resolve(pods);
      };
      this.#onChange();
    });
  }

  /** Kills the worker of one of this many Pods and waits until all run again. */
  async killOne(count: number): Promise<Recovery> {
    const before = await this.running(count);
    const victim = before[Math.floor(Math.random() * before.length)];
    if (victim === undefined) throw new Error("no worker to kill");
    const old = new Set(before.flatMap(({ containers }) => containers.map(({ containerID = "" }) => containerID)));
    const uids = new Set(before.map(({ uid }) => uid));
    const slots = [victim, ...before.filter((pod) => pod !== victim)].map(slotOf);
    this.#observations = [];
    this.#kill = { began: performance.now(), old, uids, slots };
    killContainers(bare(workerId(victim)));
    const after = await this.running(count, old);
    const { seconds, lanes } = this.sinceKill();
    return { lanes, seconds, newPods: after.filter(({ uid }) => !uids.has(uid)).length };
  }

  /** Container IDs of the agents, without the runtime's prefix. */
  agents(): readonly string[] {
    return [...this.#pods.values()].map((pod) => bare(agentOf(pod)?.containerID ?? ""));
  }

  /** The recovery so far. */
  sinceKill(): Pick<Recovery, "lanes" | "seconds"> {
    if (this.#kill === undefined) return { lanes: [], seconds: 0 };
    const { began, old, uids, slots } = this.#kill;
    const lanes = slots.map((slot) => {
      const observations = this.#observations.filter(({ pod }) => slotOf(pod) === slot);
      const first = (when: (observation: Observation) => boolean) =>
        ((observations.find(when)?.at ?? Number.NaN) - began) / 1_000;
      return {
        down: first(({ pod, gone }) => gone || pod.deletion !== undefined || !runsIn(pod, old)),
        back: first(({ pod }) => isBack(pod, uids, old)),
        up: first(({ pod }) => isUp(pod, old)),
      };
    });
    return { lanes, seconds: (performance.now() - began) / 1_000 };
  }

  #describe(): string {
    return [...this.#pods.values()].map(({ name, phase }) => `${name} ${phase}`).join(", ");
  }
}

function slotOf({ replicatedJob, jobIndex, completionIndex }: Pod): string {
  return `${replicatedJob}/${jobIndex}/${completionIndex}`;
}

function workerOf(pod: Pod) {
  return pod.containers.find(({ name }) => name === WORKER);
}

function agentOf(pod: Pod) {
  return pod.containers.find(({ name }) => name === AGENT.container || name === UPSTREAM_AGENT);
}

function bare(containerID: string): string {
  return containerID.replace("containerd://", "");
}

function workerId(pod: Pod): string {
  return workerOf(pod)?.containerID ?? "";
}

function runsIn(pod: Pod, containers: ReadonlySet<string>): boolean {
  return workerOf(pod)?.state.kind === "running" && containers.has(workerId(pod));
}

function isUp(pod: Pod, except: ReadonlySet<string>): boolean {
  return pod.deletion === undefined && workerOf(pod)?.state.kind === "running" && !except.has(workerId(pod));
}

function isBack(pod: Pod, uids: ReadonlySet<string>, old: ReadonlySet<string>): boolean {
  const agent = agentOf(pod);
  if (agent === undefined) return !uids.has(pod.uid);
  return agent.state.kind === "running" && !old.has(agent.containerID ?? "");
}
