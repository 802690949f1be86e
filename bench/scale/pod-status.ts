// The status of a Pod as a kubelet reports it, from its barrier through restarts in place. Pure. The stages are
// those of kubelet 1.36 (RestartAllContainers): the exit, the removal of all containers, the start of the agent, and
// the start of the workers.
import type { PodShape } from "./pod-shape.ts";

export type Stage =
  /** A container has ended, and its rule restarts the Pod in place. */
  | { readonly kind: "exited"; readonly container: string; readonly exitCode: number }
  /** All containers were removed. */
  | { readonly kind: "removed" }
  /** The agent runs, and the workers wait for its barrier. */
  | { readonly kind: "held" }
  | { readonly kind: "running" };

/** One run of all containers of a Pod. */
export interface Run {
  readonly restarts: number;
  /** When agent and workers of this run started. */
  readonly agentStarted: Date;
  readonly workersStarted: Date;
}

interface Address {
  readonly address: string;
}

const REMOVED = "RestartingAllContainers";

/** A strategic merge patch of pods/status. The kubelet sends the Pod's UID with it. */
export function statusPatch(pod: PodShape, stage: Stage, run: Run & Address, now: Date): object {
  const containers = { stage, run, now, pod };
  return {
    metadata: { uid: pod.uid },
    status: {
      phase: stage.kind === "held" ? "Pending" : "Running",
      conditions: conditions(stage, now),
      hostIP: HOST,
      hostIPs: [{ ip: HOST }],
      podIP: run.address,
      podIPs: [{ ip: run.address }],
      ...(run.restarts === 0 ? { startTime: time(run.agentStarted) } : {}),
      initContainerStatuses: [container(pod.agent, "agent", containers)],
      containerStatuses: pod.workers.map((name) => container(name, "worker", containers)),
    },
  };
}

const HOST = "10.204.0.1";

function conditions(stage: Stage, now: Date): object[] {
  const is = (type: string, holds: boolean, reason?: string, message?: string) => ({
    type,
    status: holds ? "True" : "False",
    lastProbeTime: null,
    lastTransitionTime: time(now),
    ...(reason === undefined ? {} : { reason, message }),
  });
  const runs = stage.kind === "running";
  const why = runs ? [] : (["ContainersNotReady", "containers with unready status"] as const);
  return [
    is("PodReadyToStartContainers", true),
    is("Initialized", true),
    is("Ready", runs, ...why),
    is("ContainersReady", runs, ...why),
    stage.kind === "exited"
      ? is("AllContainersRestarting", true, "RestartAllContainersStarted", "container exited with restart policy rule")
      : is("AllContainersRestarting", false),
    is("PodScheduled", true),
  ];
}

interface Context {
  readonly pod: PodShape;
  readonly stage: Stage;
  readonly run: Run;
  readonly now: Date;
}

function container(name: string, role: "agent" | "worker", { pod, stage, run, now }: Context): object {
  const began = role === "agent" ? run.agentStarted : run.workersStarted;
  const running = { running: { startedAt: time(began) } };
  const ended = (exitCode: number) => ({
    terminated: { exitCode, reason: "Error", startedAt: time(began), finishedAt: time(now), containerID: id },
  });
  const waiting = (reason: string) => ({ waiting: { reason } });
  const id = `containerd://${pod.uid}-${name}-${run.restarts}`;
  const state = (): object => {
    switch (stage.kind) {
      case "exited":
        return stage.container === name ? ended(stage.exitCode) : running;
      case "removed":
        return waiting(REMOVED);
      case "held":
        return role === "agent" ? running : waiting("PodInitializing");
      case "running":
        return running;
    }
  };
  const isUp = "running" in state();
  const isDone = stage.kind === "running" || (stage.kind === "exited" && isUp);
  const hasRun = isUp || stage.kind === "exited";
  return {
    name,
    image: "registry.example/image:1",
    imageID: hasRun ? "registry.example/image@sha256:1" : "",
    ...(hasRun ? { containerID: id } : {}),
    restartCount: run.restarts,
    started: isDone,
    ready: isDone,
    state: state(),
    lastState: run.restarts > 0 ? { terminated: { exitCode: 137, reason: REMOVED } } : {},
  };
}

/** Kubelets report whole seconds. */
function time(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
