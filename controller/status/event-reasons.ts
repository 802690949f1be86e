// Every Event reason that the controller records, and its meaning. Alerts and docs/operations.md rely on them. Pure.

interface EventText {
  readonly on: "JobSet" | "Pod";
  readonly type: "Normal" | "Warning";
  readonly meaning: string;
}

/** In the order of a group's life. Released names never change: users' alerts rely on them. */
export const EVENT_TEXTS = {
  NotInjected: {
    on: "JobSet",
    type: "Warning",
    meaning: "The JobSet is opted in, but was created without injection. It does not restart in place.",
  },
  LeftOut: {
    on: "JobSet",
    type: "Warning",
    meaning:
      "A replicatedJob cannot restart in place and stays plain, or the whole JobSet does. The note says why. " +
      "The others restart in place.",
  },
  RestartingInPlace: {
    on: "JobSet",
    type: "Warning",
    meaning:
      "The epoch has ended and the group restarts in place. " +
      "The note names the Pod whose failure was seen first, the container, its exit code and last words, and the " +
      "number of the restart; or it quotes the request for a restart by hand.",
  },
  RestartRequested: {
    on: "JobSet",
    type: "Normal",
    meaning:
      "A restart was requested by hand while the group was not running. Nothing is restarted for it: every worker " +
      "starts again anyway.",
  },
  RecreatingPod: {
    on: "JobSet",
    type: "Warning",
    meaning:
      "The group restarts, and the Pods to blame are replaced: an exit code requests it, " +
      "they failed too often in a row, or earlier runs have filled their `/dev/shm`.",
  },
  RecreatingJobSet: {
    on: "JobSet",
    type: "Warning",
    meaning:
      "JobSet recreates all Jobs: a slot keeps failing with a new Pod, the group keeps failing and no Pod can be " +
      "blamed, a Pod failed after others had succeeded, or podFailurePolicy failed a Job.",
  },
  BackingOff: {
    on: "JobSet",
    type: "Warning",
    meaning: "Every Pod is back. The barrier is held for a while because the group keeps failing without progress.",
  },
  GroupHung: {
    on: "JobSet",
    type: "Warning",
    meaning:
      "No worker that reports its progress has made any for the time in `reprise.dev/hang-after`. The note names the " +
      "Pod that stopped first, if it is known, since when, and its last step.",
  },
  RestartedInPlace: {
    on: "JobSet",
    type: "Normal",
    meaning: "Every worker runs again. The note says how long the restart took, and which Pod is to blame.",
  },
  BarrierStalled: {
    on: "JobSet",
    type: "Warning",
    meaning: "The group has waited at the barrier for a minute. The note names the missing Pods and the reasons.",
  },
  StageStalled: {
    on: "JobSet",
    type: "Warning",
    meaning: "A replicatedJob that may start has waited for its Pods for a minute, while the others run.",
  },
  NonRetriableExitCode: {
    on: "JobSet",
    type: "Warning",
    meaning: "A worker exited with a non-retriable code. The JobSet fails.",
  },
  FailJobSetFailurePolicyAction: {
    on: "JobSet",
    type: "Warning",
    meaning: "A failure that a rule of failurePolicy makes final. The JobSet fails. The note names the rule.",
  },
  ReachedMaxRestarts: {
    on: "JobSet",
    type: "Warning",
    meaning: "A failure after the last allowed restart. The JobSet fails.",
  },
  EpochIgnored: {
    on: "Pod",
    type: "Warning",
    meaning: "The Pod has an epoch that no agent wrote. It is ignored, and the Pod is replaced if it blocks the group.",
  },
  SharedMemoryLeft: {
    on: "Pod",
    type: "Warning",
    meaning: "Earlier runs left 16 MiB or more in the Pod's `/dev/shm`. It takes up memory of the next runs.",
  },
  ForcefullyDeleted: {
    on: "Pod",
    type: "Warning",
    meaning: "The Pod was stuck on an unreachable node and was forcefully deleted, as its annotation allows.",
  },
} as const satisfies Readonly<Record<string, EventText>>;

export type EventReason = keyof typeof EVENT_TEXTS;
