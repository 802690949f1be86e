// An InPlaceRestart as the judges of a simulation see it. For tests only.
import type { InPlaceRestartStatus } from "../../api/in-place-restart.ts";

/** The object of JobSet "js", whose epoch 1 runs and which has not restarted, but for these fields. */
export function stored(change: Partial<InPlaceRestartStatus>) {
  const status: InPlaceRestartStatus = {
    deprecatedEpoch: 0,
    syncedEpoch: 1,
    heldStages: [],
    restarts: 0,
    phase: "Running",
    ready: "2/2",
    history: [],
    conditions: [],
    ...change,
  };
  const metadata = { name: "train", namespace: "ml", uid: "ipr", resourceVersion: "1" };
  return { metadata, spec: { jobSetUID: "js" }, status };
}
