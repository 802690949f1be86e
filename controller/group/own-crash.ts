// Whether a worker crashed by itself. Its exit alone does not show that: a Pod that restarts in place stops its
// workers, and so does a Pod whose agent was killed. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { restartedUnseen } from "./blame.ts";
import { epochRuns } from "./epochs.ts";
import { proofs } from "./evidence.ts";
import type { Group, Loss, LossTally } from "./group.ts";
import { placeOf } from "./pod-failure.ts";

/** 128 + SIGKILL, 128 + SIGTERM. */
const STOPPED: ReadonlySet<number> = new Set([137, 143]);

/**
 * While the epoch runs, agents only exit when they are killed, so another exit code than that of a signal is a crash.
 * Once it is deprecated they all exit, and a worker may answer the signal with any code.
 */
export function ownCrashOf({ cause, own, counted, ignored, requestedAction }: Loss): LossTally["own"] {
  if (!counted || ignored === true || requestedAction === "fail") return "never";
  if (own === true) return "always";
  const { reason, exitCode = 0 } = cause;
  if (reason === "PodRestarted") return "while-running";
  return reason === "ContainerExited" && !STOPPED.has(exitCode) ? "while-running" : "never";
}

/** A crash, as far as rules of failurePolicy look at it. */
type Crash = Pick<Loss, "stage" | "job" | "epoch" | "cause" | "at">;

/** The crashes of the epoch, of all stages or these ones, also those whose exit no report has shown. */
export function ownCrashes(
  group: Group,
  status: InPlaceRestartStatus,
  now: number,
  stages?: ReadonlySet<string>,
): readonly Crash[] {
  if (stages?.size === 0) return [];
  const isOf = ({ stage }: Pick<Loss, "stage">) => stages === undefined || stages.has(stage);
  const isOwn = (own: LossTally["own"]) => own === "always" || (own === "while-running" && epochRuns(status));
  const seen = [...proofs(group, status, now, (tally) => isOf(tally) && isOwn(tally.own))]
    .map(([, loss]) => loss)
    .filter((loss) => isOf(loss) && isOwn(ownCrashOf(loss)));
  return [...seen, ...unseenCrashes(group, status).filter(isOf)];
}

/** The crashes whose exit no report has shown: the Pod is back, although its epoch was not deprecated. */
export function unseenCrashes(group: Group, status: InPlaceRestartStatus): readonly Crash[] {
  return restartedUnseen(group, status).map(({ pod, epochSince: at }) => {
    const { replicatedJob: stage, controller } = pod;
    const cause = { reason: "PodRestarted", ...placeOf(pod) } as const;
    return { stage, job: controller?.uid ?? "", epoch: status.syncedEpoch, cause, at };
  });
}
