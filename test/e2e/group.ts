// A training group on the cluster, as a user sees it: a plain JobSet, its Pods, and the InPlaceRestart object.
import { readFileSync } from "node:fs";
import { stringify } from "yaml";
import type { Kubectl } from "../cluster/kubectl.ts";
import { allPids, waitFor } from "../cluster/proc.ts";

export interface GroupState {
  readonly syncedEpoch: number;
  readonly deprecatedEpoch: number;
  readonly restarts: number;
  readonly phase: string;
  readonly pods: readonly PodState[];
}

export interface PodState {
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  readonly epoch: number;
  readonly workerRestarts: number;
  readonly workerRunning: boolean;
  /** Milliseconds since 1970; the kubelet reports whole seconds. */
  readonly workerStartedAt: number;
  readonly agentStartedAt: number;
  readonly workerContainer: string;
}

/** Long enough for a slow machine that runs other tests; a recovery takes seconds. */
const TIMEOUT_MS = 60_000;

export class TrainingGroup {
  readonly name: string;
  readonly #kubectl: Kubectl;
  readonly #namespace: string;

  private constructor(kubectl: Kubectl, namespace: string, name: string) {
    this.#kubectl = kubectl;
    this.#namespace = namespace;
    this.name = name;
  }

  /** Applies a plain JobSet with a replicatedJob of the given number of Pods under each name. */
  static async start(
    kubectl: Kubectl,
    namespace: string,
    name: string,
    stages: Readonly<Record<string, number>>,
    jobSet: { readonly maxRestarts?: number } = {},
  ): Promise<TrainingGroup> {
    const group = new TrainingGroup(kubectl, namespace, name);
    await group.#run(["apply", "-f", "-"], jobSetText(name, stages, jobSet.maxRestarts ?? 10));
    return group;
  }

  async remove(): Promise<void> {
    await this.#run(["delete", "jobset", this.name, "--wait=true", "--timeout=60s", "--cascade=foreground"]);
  }

  /** Waits until every worker of the synced epoch runs. */
  running(): Promise<GroupState> {
    return this.#reached("runs", (state) => state.syncedEpoch > 0);
  }

  /** Waits until every worker of this epoch runs. */
  restarted(epoch: number): Promise<GroupState> {
    return this.#reached(`runs at epoch ${epoch}`, (state) => state.syncedEpoch === epoch);
  }

  async state(): Promise<GroupState | undefined> {
    const [object, pods] = await Promise.all([
      this.#json(["inplacerestart", this.name]).catch(() => undefined),
      this.#json(["pods", "-l", `jobset.sigs.k8s.io/jobset-name=${this.name}`]),
    ]);
    const status = (object as InPlaceRestart | undefined)?.status;
    if (status === undefined) return undefined;
    return { ...status, pods: (pods as PodList).items.map(podState) };
  }

  /** Makes the worker end by itself with this code. */
  async exitWorker(pod: string, code: number): Promise<void> {
    await this.#run(["exec", pod, "-c", "trainer", "--", "sh", "-c", `echo ${code} > /tmp/exit`]);
  }

  /** SIGKILL from outside, as the kernel or an operator would send it. */
  async killWorker(pod: string): Promise<void> {
    const { pods } = (await this.state()) ?? { pods: [] };
    const id = pods.find(({ name }) => name === pod)?.workerContainer ?? "no container";
    for (const pid of allPids().filter((each) => isIn(each, id))) process.kill(pid, "SIGKILL");
  }

  async #reached(what: string, condition: (state: GroupState) => boolean): Promise<GroupState> {
    let last: GroupState | undefined;
    try {
      return await waitFor(`${this.name} ${what}`, TIMEOUT_MS, async () => {
        last = await this.state();
        if (last === undefined || last.pods.length === 0 || !condition(last)) return undefined;
        const epoch = last.syncedEpoch;
        return last.pods.every((pod) => pod.workerRunning && pod.epoch === epoch) ? last : undefined;
      });
    } catch (error) {
      throw new Error(`${this.name} never ${what}; last seen: ${JSON.stringify(last)}`, { cause: error });
    }
  }

  async #run(args: readonly string[], input?: string): Promise<string> {
    return await this.#kubectl(["-n", this.#namespace, ...args], input === undefined ? {} : { input });
  }

  async #json(what: readonly string[]): Promise<unknown> {
    return JSON.parse(await this.#run(["get", ...what, "-o", "json"]));
  }
}

interface InPlaceRestart {
  readonly status?: Omit<GroupState, "pods">;
}

interface PodList {
  readonly items: readonly RawPod[];
}

interface RawPod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly annotations?: Record<string, string> };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly containerStatuses?: readonly RawStatus[];
    readonly initContainerStatuses?: readonly RawStatus[];
  };
}

interface RawStatus {
  readonly name: string;
  readonly restartCount: number;
  readonly containerID?: string;
  readonly state: { readonly running?: { readonly startedAt: string } };
}

function podState(pod: RawPod): PodState {
  const worker = pod.status.containerStatuses?.find(({ name }) => name === "trainer");
  const agent = pod.status.initContainerStatuses?.find(({ name }) => name === "reprise-agent");
  const startedAt = (status: RawStatus | undefined) => Date.parse(status?.state.running?.startedAt ?? "");
  return {
    name: pod.metadata.name,
    uid: pod.metadata.uid,
    node: pod.spec.nodeName ?? "",
    epoch: Number(pod.metadata.annotations?.["jobset.sigs.k8s.io/epoch"]),
    workerRestarts: worker?.restartCount ?? 0,
    workerRunning: worker?.state.running !== undefined,
    workerStartedAt: startedAt(worker),
    agentStartedAt: startedAt(agent),
    workerContainer: worker?.containerID?.replace("containerd://", "") ?? "",
  };
}

/** Whether a process of this machine belongs to a container. */
function isIn(pid: number, container: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, "utf8").includes(container);
  } catch {
    return false; // Ended meanwhile.
  }
}

/** The worker ends when it is told to, by file or by signal; /tmp is an emptyDir, which outlives a restart in place. */
const WORKER = [
  "trap 'exit 143' TERM",
  "code=0; if [ -e /tmp/exit ]; then rm /tmp/exit; fi",
  'echo "epoch $REPRISE_EPOCH"',
  "while [ ! -e /tmp/exit ]; do sleep 0.1; done",
  "exit $(cat /tmp/exit)",
].join("; ");

function jobSetText(name: string, stages: Readonly<Record<string, number>>, maxRestarts: number): string {
  const replicatedJobs = Object.entries(stages).map(([stage, pods]) => ({
    name: stage,
    template: {
      spec: {
        parallelism: pods,
        completions: pods,
        template: {
          spec: {
            terminationGracePeriodSeconds: 1,
            volumes: [{ name: "tmp", emptyDir: {} }],
            containers: [
              {
                name: "trainer",
                image: "local/busybox:1",
                command: ["sh", "-c", WORKER],
                volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
              },
            ],
          },
        },
      },
    },
  }));
  return stringify({
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: { name },
    spec: { failurePolicy: { maxRestarts }, replicatedJobs },
  });
}
