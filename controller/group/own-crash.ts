// Whether a worker crashed by itself. Its exit alone does not show that: a Pod that restarts in place stops its
// workers, and so does a Pod whose agent was killed. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { restartedUnseen } from "./blame.ts";
import { epochRuns } from "./epochs.ts";
import { isProof } from "./evidence.ts";
import type { Group, Loss } from "./group.ts";

/** 128 + SIGKILL, 128 + SIGTERM. */
const STOPPED: ReadonlySet<number> = new Set([137, 143]);

/**
 * While the epoch runs, agents only exit when they are killed, so another exit code than that of a signal is a crash.
 * Once it is deprecated they all exit, and a worker may answer the signal with any code.
 */
function isOwnCrash(group: Group, loss: Loss, status: InPlaceRestartStatus, now: number): boolean {
  const { cause, own, counted, ignored, requestedAction } = loss;
  if (!counted || ignored === true || requestedAction === "fail" || !isProof(group, loss, status, now)) return false;
  if (own === true) return true;
  return cause.reason === "ContainerExited" && epochRuns(status) && !STOPPED.has(cause.exitCode ?? 0);
}

/** A crash, as far as rules of failurePolicy look at it. */
type Crash = Pick<Loss, "stage" | "job" | "epoch" | "cause" | "at">;

/** The crashes of the epoch, also those whose exit no report has shown. */
export function ownCrashes(group: Group, status: InPlaceRestartStatus, now: number): readonly Crash[] {
  const seen = [...group.losses.values()].filter((loss) => isOwnCrash(group, loss, status, now));
  return [...seen, ...unseenCrashes(group, status)];
}

/** The crashes whose exit no report has shown: the Pod is back, although its epoch was not deprecated. */
export function unseenCrashes(group: Group, status: InPlaceRestartStatus): readonly Crash[] {
  return restartedUnseen(group, status).map(({ pod: { name, replicatedJob: stage, controller }, epochSince: at }) => {
    const cause = { reason: "PodRestarted", pod: name } as const;
    return { stage, job: controller?.uid ?? "", epoch: status.syncedEpoch, cause, at };
  });
}
