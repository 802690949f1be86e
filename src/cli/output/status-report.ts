// What `reprise status` reports about one group, as plain data derived from its objects. Pure.
import { budgetOf } from "../../../controller/escalation/used-budget.ts";
import { largeLeftovers } from "../../../controller/group/leftovers.ts";
import { terminatingSince } from "../../../controller/status/awaited-termination.ts";
import { describeCause } from "../../../controller/status/history.ts";
import { describeLeftovers } from "../../../controller/status/shared-memory.ts";
import { annotateCommand } from "../../../controller/stuck-pods/explain.ts";
import type { Availability, Tally } from "../../api/availability.ts";
import {
  type AvailabilityFigures,
  availabilityFigures,
  hasOpenRestart,
  suspectNodes,
} from "../../api/availability-figures.ts";
import type { BudgetSource } from "../../api/budget.ts";
import { formatDuration } from "../../api/duration.ts";
import type { InPlaceRestartStatus, RestartRecord, RestartSteps } from "../../api/in-place-restart.ts";
import type { Condition } from "../../api/metadata.ts";
import type { Pod } from "../../api/pod.ts";
import { type CrashReport, crashReport } from "./crash-report.ts";
import type { GroupReading, NodeState, WorkerProgress } from "./group-reading.ts";
import { missingPods } from "./missing-pods.ts";

export interface GroupReport {
  readonly namespace: string;
  readonly name: string;
  readonly phase: string;
  readonly ready: string;
  readonly syncedEpoch?: number;
  readonly deprecatedEpoch?: number;
  readonly heldStages: readonly string[];
  readonly restarts: { readonly used: number; readonly max?: number; readonly from?: BudgetSource };
  /** Absent before the controller has opened an account. */
  readonly availability?: AvailabilityReport;
  /** Which Pods the barrier or a stage waits for, and why. Absent if it waits for none, or Pods were not read. */
  readonly missing?: string;
  readonly waitingFor: readonly AwaitedPod[];
  readonly sharedMemory: readonly LeftoverReport[];
  readonly progress: readonly WorkerProgress[];
  readonly history: readonly RestartReport[];
  readonly conditions: readonly Condition[];
}

/** What the group has spent its time on, and what interrupted it. */
interface AvailabilityReport
  extends AvailabilityFigures,
    Pick<Availability, "state" | "since" | "causes" | "blamedPods" | "blamedNodes"> {
  /** Blamed again and again. */
  readonly suspectNodes: readonly Tally[];
}

/** A Pod in whose /dev/shm earlier runs have left much. */
interface LeftoverReport {
  readonly pod: string;
  readonly text: string;
}

interface AwaitedPod {
  readonly pod: string;
  readonly node: string;
  readonly nodeState: NodeState;
  readonly terminatingSince: string;
  readonly gracePeriodEnds: string;
  readonly safeToForcefullyDelete: boolean;
  /** What the user can do, one line each. */
  readonly remedies: readonly string[];
}

export interface RestartReport {
  readonly cause: string;
  readonly fromEpoch: number;
  readonly toEpoch?: number;
  readonly counted: boolean;
  readonly crash?: CrashReport;
  readonly failureSeen?: string;
  /** Seconds from the failure to each completed step. */
  readonly steps: Readonly<Partial<Record<Step, number>>>;
}

export const STEPS = ["deprecated", "allRestarted", "synced", "allRunning"] as const;
type Step = (typeof STEPS)[number] & keyof RestartSteps;

/** `now` in milliseconds since 1970, here and below. */
export function reportGroup(reading: GroupReading, now: number): GroupReport {
  const { object, jobSet, pods = [], nodes = new Map(), progress = [] } = reading;
  const { namespace, name, status } = object;
  const missing = missingPods(reading);
  const availability = status === undefined ? undefined : availabilityReport(status, now);
  const inPlace = status?.restarts ?? 0;
  const budget = jobSet === undefined ? { used: inPlace } : budgetOf(jobSet, inPlace);
  return {
    namespace,
    name,
    phase: status?.phase ?? "Starting",
    ready: status?.ready ?? "",
    ...(status === undefined ? {} : { syncedEpoch: status.syncedEpoch, deprecatedEpoch: status.deprecatedEpoch }),
    heldStages: status?.heldStages ?? [],
    restarts: budget,
    ...(availability === undefined ? {} : { availability }),
    ...(missing === undefined ? {} : { missing }),
    waitingFor: pods
      .flatMap((pod) => awaitedPod(pod, nodes.get(pod.node ?? "") ?? "unknown"))
      .sort((a, b) => (a.terminatingSince < b.terminatingSince ? -1 : 1)),
    sharedMemory: pods.flatMap((pod) => {
      const mebibytes = largeLeftovers(pod);
      return mebibytes === undefined ? [] : [{ pod: pod.name, text: describeLeftovers(mebibytes) }];
    }),
    progress,
    history: (status?.history ?? []).map((record) => restartReport(record, pods)),
    conditions: status?.conditions ?? [],
  };
}

function availabilityReport(status: InPlaceRestartStatus, now: number): AvailabilityReport | undefined {
  const { availability } = status;
  if (availability === undefined) return undefined;
  const { state, since, causes, blamedPods, blamedNodes } = availability;
  const figures = availabilityFigures(availability, hasOpenRestart(status), now);
  return { state, since, ...figures, causes, blamedPods, blamedNodes, suspectNodes: suspectNodes([availability]) };
}

/** Of several groups: a node may cause a failure in each. */
export function suspectNodesOf(groups: readonly GroupReport[]): readonly Tally[] {
  return suspectNodes(groups.flatMap(({ availability }) => availability ?? []));
}

function awaitedPod(pod: Pod, nodeState: NodeState): AwaitedPod[] {
  // A finished Pod does not block the group.
  if (pod.deletion === undefined || pod.phase === "Succeeded" || pod.phase === "Failed") return [];
  return [
    {
      pod: pod.name,
      node: pod.node ?? "",
      nodeState,
      terminatingSince: terminatingSince(pod),
      gracePeriodEnds: pod.deletion.timestamp,
      safeToForcefullyDelete: pod.safeToForcefullyDelete,
      remedies: remediesFor(pod, nodeState),
    },
  ];
}

function remediesFor(pod: Pod, nodeState: NodeState): readonly string[] {
  if (nodeState === "gone") return ["wait: Kubernetes deletes Pods of nodes that no longer exist within a minute"];
  if (nodeState === "reachable") {
    return [
      `if it is still there after its grace period (${pod.deletion?.timestamp}), check its finalizers, its volumes ` +
        `and the kubelet log on ${pod.node}`,
    ];
  }
  const force = `kubectl delete pod -n ${pod.namespace} ${pod.name} --force --grace-period=0`;
  const byHand = `only if you know that node ${pod.node} is off, because the Pod may still run there: ${force}`;
  return pod.safeToForcefullyDelete
    ? [
        "wait: the controller forcefully deletes it when its node has been unreachable for stuckPods.threshold after " +
          "its grace period; the condition WaitingForTermination shows when, or why not",
        byHand,
      ]
    : [
        `if a second copy of it does no harm, allow the controller to forcefully delete it: ${annotateCommand(pod)}`,
        "for future JobSets, set the annotation on the JobSet; reprise.dev/node-loss-grace shortens the time until " +
          "Pods are evicted",
        byHand,
      ];
}

function restartReport(record: RestartRecord, pods: readonly Pod[]): RestartReport {
  const { cause, fromEpoch, toEpoch, counted, failureSeen } = record;
  const seen = Date.parse(failureSeen ?? "");
  const steps = STEPS.flatMap((step) => {
    const seconds = (Date.parse(record[step] ?? "") - seen) / 1_000;
    return Number.isNaN(seconds) ? [] : [[step, seconds] as const];
  });
  const crash = crashReport(record, pods);
  return {
    cause: describeCause(cause),
    fromEpoch,
    ...(toEpoch === undefined ? {} : { toEpoch }),
    counted,
    ...(crash === undefined ? {} : { crash }),
    ...(failureSeen === undefined ? {} : { failureSeen }),
    steps: Object.fromEntries(steps),
  };
}

/** For example "Pod x to terminate (terminating for 45s on node y: unreachable)". */
export function describeAwaited(awaited: AwaitedPod, now: number): string {
  const { pod, node, nodeState, terminatingSince } = awaited;
  const where = node === "" ? "" : ` on node ${node}: ${nodeState === "unknown" ? "state unknown" : nodeState}`;
  return `Pod ${pod} to terminate (terminating for ${ageOf(terminatingSince, now)}${where})`;
}

export function ageOf(time: string, now: number): string {
  const age = now - Date.parse(time);
  return Number.isNaN(age) ? "unknown" : spanOf(age / 1_000);
}

/** In whole seconds below 10 minutes, else in minutes and hours. */
export function spanOf(seconds: number): string {
  const unit = seconds < 600 ? 1 : 60;
  return formatDuration(Math.floor(Math.max(0, seconds) / unit) * unit * 1_000);
}
