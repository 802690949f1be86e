// The Pods of the small model: what runs in each, the next request of its agent, and its state at the API server.
import { type AgentState, newAgent } from "../../../agent/decide.ts";
import type { Pod } from "../../api/pod.ts";
import { jobOf, jobSetOf, podOf } from "../objects.ts";
import { podStatus } from "../pod-status.ts";

/** The status of one incarnation of a Pod, as its kubelet reports it. */
interface Report {
  readonly says: "waiting" | "running" | "failed";
  readonly incarnation: number;
}

export interface PodState {
  readonly incarnation: number;
  /** Absent when the process has ended. */
  readonly agent: AgentState | undefined;
  /** The next request of the agent. */
  readonly request: "watch" | "publish" | "none";
  /** The version of the GroupEpoch that the agent saw last, and the versions on their way to it. */
  readonly seen: number;
  readonly news: readonly number[];
  readonly worker: "none" | "runs" | "failed";
  /** The kubelet noticed the failure and is about to restart all containers. */
  readonly noticed: boolean;
  /** The epoch for which the startup probe of these containers has succeeded; 0 for none. */
  readonly started: number;
  /** May be sent at any time, or be replaced by the next report. */
  readonly unsent: Report | undefined;
  /** What the agent has said last about its worker: that it makes no progress. */
  readonly said: boolean;
  /**
   * A report on its way to the API server: the epoch in which the worker has stopped, -1 if it moves again, 0 for no
   * report. It may arrive at any time, also after its agent has ended.
   */
  readonly flight: number;
  /** The report at the API server: the epoch in which the worker has stopped, or 0. */
  readonly hang: number;
  /** Epoch (0 for none) and status at the API server. */
  readonly epoch: number;
  readonly status: Report | undefined;
  /** How often the Pod of this slot was replaced. */
  readonly generation: number;
  /** `evicted`: it has a deletionTimestamp. `ending`: its kubelet has sent SIGTERM. `failed`: its containers ended. */
  readonly end: "none" | "evicted" | "ending" | "failed";
  /** The highest epoch that a Pod of this slot has published. */
  readonly reached: number;
}

/** One watch event of a Pod. */
export interface PodVersion extends Pick<PodState, "epoch" | "hang" | "status" | "generation"> {
  readonly pod: number;
  readonly end: "none" | "evicted" | "failed" | "gone";
}

/** Two is the least number that can disagree, and three are too many to explore completely. */
const PODS = 2;
const STAGE = { name: "workers", replicas: 1, parallelism: PODS, dependsOn: [] };
// The budget is never spent, so that every restart is visible.
export const JOBSET = jobSetOf({ stages: [STAGE], inOrder: false, maxRestarts: 1_000, hangAfterMs: 1 }, "jobset", "1");
export const JOB = jobOf(JOBSET, STAGE, 0, "job", "1");
const BLANKS = Array.from({ length: PODS }, (_, index) => podOf(JOBSET, JOB, index, `pod-${index}`, index, "1"));

/** As the Job controller creates them. */
export function newPods(): readonly PodState[] {
  return BLANKS.map(() => newPod(0, 0));
}

function newPod(generation: number, reached: number): PodState {
  const created = { epoch: 0, hang: 0, flight: 0, status: undefined, end: "none" } as const;
  return { ...newborn(1), ...created, generation, reached };
}

/** As the Job controller creates it when the Pod has failed. */
export function replacementOf({ generation, reached }: PodState): PodState {
  return newPod(generation + 1, reached);
}

/** A Pod with new containers. The kubelet reports that they wait, also before it has reported anything else. */
export function newborn(incarnation: number): Omit<PodState, AtServer> {
  const agent = newAgent({ jobSetUid: JOBSET.uid, replicatedJob: STAGE.name });
  const none = { seen: 0, news: [], worker: "none", noticed: false, started: 0, said: false } as const;
  return { ...none, incarnation, agent, request: "watch", unsent: { says: "waiting", incarnation } };
}

/** What a restart in place does not change. */
type AtServer = "flight" | "hang" | "epoch" | "status" | "generation" | "end" | "reached";

export function podKey(pod: PodState): string {
  const { agent, request, seen, news, worker, noticed, started, unsent, epoch, status, incarnation } = pod;
  const { generation, end, reached, said, flight, hang } = pod;
  const doing = agent === undefined ? "-" : [agent.epoch, agent.published, agent.lifted, request, seen, news].join();
  const onNode = [incarnation, doing, worker, noticed, started, reportKey(unsent)];
  return [...onNode, said, flight, hang, epoch, reportKey(status), generation, end, reached].join(";");
}

export function versionKey({ pod, epoch, hang, status, generation, end }: PodVersion): string {
  return `${pod} ${generation} ${epoch} ${hang} ${end} ${reportKey(status)}`;
}

function reportKey(report: Report | undefined): string {
  return report === undefined ? "-" : `${report.says}${report.incarnation}`;
}

export function withoutAgent(pod: PodState): PodState {
  return { ...pod, agent: undefined, request: "none", seen: 0, news: [] };
}

/** The grace period is not over before the worker has ended: time stands still. */
const DELETION = { timestamp: "2026-01-01T00:00:30Z", graceSeconds: 30 };
const DISRUPTED = { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI", message: "" } as const;

export function podOfVersion({ pod: index, epoch, hang, status, generation, end }: PodVersion): Pod {
  const blank = BLANKS[index];
  if (blank === undefined) throw new Error(`there is no Pod ${index}`);
  const uid = `${blank.uid}-${generation}`;
  const published: Pod = { ...blank, uid, epoch: epoch === 0 ? { kind: "absent" } : { kind: "present", epoch } };
  const created: Pod = hang === 0 ? published : { ...published, hang: { epoch: hang, state: "stopped", since: 0 } };
  const pod = status === undefined ? created : { ...created, ...statusOf(uid, status) };
  if (end === "none") return pod;
  const evicted: Pod = { ...pod, deletion: DELETION, conditions: [...pod.conditions, DISRUPTED] };
  return end === "evicted" ? evicted : { ...evicted, phase: "Failed" };
}

function statusOf(uid: string, { says, incarnation }: Report): ReturnType<typeof podStatus> {
  const agent = {
    agent: { kind: "running" },
    agentId: `${uid}-agent-${incarnation}`,
    restarts: incarnation - 1,
  } as const;
  const workerId = `${uid}-worker-${incarnation}`;
  switch (says) {
    case "waiting":
      return podStatus("Pending", { ...agent, worker: { kind: "waiting", reason: "PodInitializing" } });
    case "running":
      return podStatus("Running", { ...agent, worker: { kind: "running" }, workerId });
    case "failed":
      return podStatus("Running", {
        ...agent,
        worker: { kind: "terminated", exitCode: 1, reason: "Error" },
        workerId,
      });
  }
}
