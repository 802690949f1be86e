// Every reason of an Event that the controller records, with what it means: alerts and docs/operations.md go by these. Pure.

export interface EventText {
  readonly on: "JobSet" | "Pod";
  readonly type: "Normal" | "Warning";
  readonly meaning: string;
}

/** In the order of a group's life. Nothing here may be renamed once released: users' alerts know the names. */
export const EVENT_TEXTS = {
  NotInjected: {
    on: "JobSet",
    type: "Warning",
    meaning: "It is opted in, but was created without injection: it does not restart in place.",
  },
  RestartingInPlace: {
    on: "JobSet",
    type: "Warning",
    meaning:
      "An epoch has ended. The note names the Pod, the container and its exit code, and which restart of the budget it is.",
  },
  RecreatingPod: {
    on: "JobSet",
    type: "Warning",
    meaning: "The same, and the Pod at fault is replaced: by its exit code, or because it failed too often in a row.",
  },
  RecreatingJobSet: {
    on: "JobSet",
    type: "Warning",
    meaning:
      "The same, and JobSet recreates everything: the last rung of the ladder, or a failure after a partial success.",
  },
  BackingOff: {
    on: "JobSet",
    type: "Warning",
    meaning: "Every Pod is back, and the barrier is held for a while because the group fails again and again.",
  },
  RestartedInPlace: {
    on: "JobSet",
    type: "Normal",
    meaning: "Every worker runs again. The note says how long after the failure.",
  },
  BarrierStalled: {
    on: "JobSet",
    type: "Warning",
    meaning: "The group has waited at its barrier for a minute. The note names the Pods that are missing, and why.",
  },
  StageStalled: {
    on: "JobSet",
    type: "Warning",
    meaning: "The same for a replicatedJob whose turn has come, while the others run.",
  },
  NonRetriableExitCode: {
    on: "JobSet",
    type: "Warning",
    meaning: "A worker exited with a code of the fail class; the JobSet fails.",
  },
  ReachedMaxRestarts: {
    on: "JobSet",
    type: "Warning",
    meaning: "A failure after the last allowed restart; the JobSet fails.",
  },
  EpochIgnored: {
    on: "Pod",
    type: "Warning",
    meaning:
      "The Pod has an epoch that no agent wrote. It does not count, and a Pod that the group waits for in vain is replaced.",
  },
  ForcefullyDeleted: {
    on: "Pod",
    type: "Warning",
    meaning: "The Pod was stuck on a lost node and was freed, by its own consent.",
  },
} as const satisfies Readonly<Record<string, EventText>>;

export type EventReason = keyof typeof EVENT_TEXTS;
