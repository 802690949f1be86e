// The Pods that may have ended an epoch: those that failed by themselves, and not because the group restarted. Pure.
import type { InPlaceRestartStatus, RestartRecord } from "../../src/api/in-place-restart.ts";
import { isReplacement } from "./blame.ts";
import { livePods } from "./epochs.ts";
import { isFresh, proofTest } from "./evidence.ts";
import type { Group, Loss, Member } from "./group.ts";
import { placeOf } from "./pod-failure.ts";
import { slotName } from "./slots.ts";

/** A Pod that may be to blame, with what is known about the end of its worker. */
export interface Suspect extends Pick<Loss, "cause" | "requestedAction" | "stage" | "job" | "slot" | "termination"> {
  /** UID of the Pod. */
  readonly uid: string;
}

interface Suspicion {
  /** In the order in which their failures were seen. */
  readonly suspects: readonly Suspect[];
  /** The first Pod that was deleted in the epoch. That is no failure, but explains those of the others. */
  readonly deleted?: Suspect;
  /** Pods that were told to restart, and of which no report has shown whether their workers still ran. */
  readonly doubtful: readonly Suspect[];
  /** How many Pods are known to have run until they were told to restart. */
  readonly healthy: number;
  /** Whether this process has seen the whole epoch. Otherwise it may have missed a failure. */
  readonly isComplete: boolean;
}

export function findSuspects(
  group: Group,
  status: InPlaceRestartStatus,
  record: RestartRecord,
  now: number,
): Suspicion {
  const ordered = Date.parse(record.deprecated ?? "");
  const ended = [...group.firstLosses].filter(([, loss]) => loss.epoch === record.fromEpoch);
  const losses = ended.filter(([, loss]) => !isConsequence(loss, ordered));
  const isProof = proofTest(group, status, now);
  const proven = losses.filter(([, loss]) => isProof(loss));
  const [deleted] = proven.filter(([, { cause }]) => cause.reason === "PodDeleted").map(toSuspect);
  const failed = proven.filter(([, { cause }]) => cause.reason !== "PodDeleted").map(toSuspect);
  const unseen = restartedEarly(group, status, record, ordered);
  const known = [...unseen, ...failed];
  const seenFirst = known.some(({ cause }) => cause.pod === record.cause.pod) ? undefined : namedSuspect(group, record);
  const suspects = seenFirst === undefined ? known : [seenFirst, ...known];
  const back = livePods(group, (epoch) => epoch === record.fromEpoch + 1);
  const stopped = new Set(ended.filter(([, loss]) => isStopped(loss, ordered)).map(([uid]) => uid));
  const accounted = new Set([...suspects.map(({ uid }) => uid), ...group.told, ...stopped]);
  const unknown = back.filter((member) => {
    const { uid, replicatedJob } = member.pod;
    return !accounted.has(uid) && !status.heldStages.includes(replicatedJob) && !isReplacement(member);
  });
  return {
    suspects,
    ...(deleted === undefined ? {} : { deleted }),
    // A run that was over when this process first saw it may have failed in this epoch, or in an earlier one.
    isComplete: group.watchedEpoch === record.fromEpoch && losses.every(([, loss]) => isFresh(group, loss)),
    doubtful: unknown.map((member) => suspectOf(member, { reason: "PodRestarted", ...placeOf(member.pod) })),
    healthy: new Set([...group.told, ...stopped]).size,
  };
}

/** A node's clock may differ by about this much from the controller's. */
const CLOCK_DIFFERENCE_MS = 1_000;

/**
 * Whether the group restart itself ended the worker: the kubelet stops it after the agent has exited, and a worker may
 * exit because its peers are being stopped. What was seen before the restart was ordered is no consequence of it.
 */
function isConsequence(loss: Loss, ordered: number): boolean {
  return isStopped(loss, ordered) || (loss.cause.reason === "PodRestarted" && loss.at > ordered);
}

/** Whether its report shows that the worker ran until the group was told to restart. */
function isStopped({ at, termination }: Loss, ordered: number): boolean {
  if (termination?.finishedAt === undefined || !(at > ordered)) return false;
  const { finishedAt, agentFinishedAt = Number.POSITIVE_INFINITY } = termination;
  return finishedAt > agentFinishedAt || finishedAt >= ordered + CLOCK_DIFFERENCE_MS;
}

function toSuspect([uid, loss]: readonly [string, Loss]): Suspect {
  const { cause, requestedAction, stage, job, slot, termination } = loss;
  return { uid, cause, requestedAction, stage, job, slot, ...(termination === undefined ? {} : { termination }) };
}

/** Pods that were back before the group was told to restart: something in them failed, and no report has shown it. */
function restartedEarly(
  group: Group,
  { heldStages }: InPlaceRestartStatus,
  { fromEpoch }: RestartRecord,
  ordered: number,
): readonly Suspect[] {
  return livePods(group, (epoch) => epoch === fromEpoch + 1)
    .filter((member) => {
      const { pod, publishedAt, epochSince } = member;
      // The event alone does not show it: the order was given before the watch showed it.
      const isEarly = publishedAt < group.deprecationSeenAt && epochSince <= ordered;
      if (!isEarly || heldStages.includes(pod.replicatedJob)) return false;
      return group.firstLosses.get(pod.uid)?.epoch !== fromEpoch && !isReplacement(member);
    })
    .map((member) => suspectOf(member, { reason: "PodRestarted", ...placeOf(member.pod) }));
}

/** The Pod that the record names although no loss shows its failure: it had reached the next epoch by itself. */
function namedSuspect({ members }: Group, { cause }: RestartRecord): Suspect | undefined {
  const member = [...members.values()].find(({ pod }) => pod.name === cause.pod);
  return member === undefined ? undefined : suspectOf(member, cause);
}

function suspectOf({ pod }: Member, cause: RestartRecord["cause"]): Suspect {
  const { uid, controller, completionIndex, replicatedJob: stage } = pod;
  const slot = slotName(controller?.name, completionIndex);
  return { uid, cause, requestedAction: "restart", stage, job: controller?.uid ?? "", slot };
}
