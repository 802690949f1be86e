// Every label, annotation and well-known name that reprise reads or writes.
// Nothing here may be renamed after a release: objects in users' clusters contain these strings.

export const GROUP = "reprise.dev";

/** Labels. */
export const LABEL = {
  /** On a namespace: injects its JobSets. */
  injection: "reprise.dev/injection",
  /** On an injected JobSet and its Pods: the label selector of the controller's watches. */
  injected: "reprise.dev/injected",
} as const;

/** Annotations on a JobSet or, where noted, on a Pod. */
export const ANNOTATION = {
  /** "true" | "false": turns injection of one JobSet on or off. */
  inject: "reprise.dev/inject",
  /** JSON written by the webhook: the record of the injection. */
  status: "reprise.dev/status",
  /** Comma-separated replicatedJobs that participate; default: all. */
  replicatedJobs: "reprise.dev/replicated-jobs",
  /** Comma-separated container names that are workers; default: all regular containers. */
  workerContainers: "reprise.dev/worker-containers",
  /** Name of a failure policy in the namespace or in the config file. */
  failurePolicy: "reprise.dev/failure-policy",
  failExitCodes: "reprise.dev/fail-exit-codes",
  recreateExitCodes: "reprise.dev/recreate-exit-codes",
  maxRestarts: "reprise.dev/max-restarts",
  /** A text: each new one restarts the whole group once, by hand. */
  restartRequest: "reprise.dev/restart-request",
  escalateAfter: "reprise.dev/escalate-after",
  /** "recreate" (default) | "continue": what happens if a Pod fails after others of its replicatedJob succeeded. */
  onPartialSuccess: "reprise.dev/on-partial-success",
  nodeLossGrace: "reprise.dev/node-loss-grace",
  agentCpu: "reprise.dev/agent-cpu",
  agentMemory: "reprise.dev/agent-memory",
  /** "true": what workers leave in shared memory stays there when they restart in place. */
  keepSharedMemory: "reprise.dev/keep-shared-memory",
  /** A duration, or "learned": how long no worker may make progress. Asks for hang detection. */
  hangAfter: "reprise.dev/hang-after",
  /** "warn" (default) | "restart": what happens to a group that hangs. */
  onHang: "reprise.dev/on-hang",
  /** A duration: how long a worker may take until its first sign of progress. */
  startDeadline: "reprise.dev/start-deadline",
  /** A file in a volume of the user that changes with each step. Default: a file in a volume of injection. */
  progressFile: "reprise.dev/progress-file",
  /** "file" (default) | "nccl-ras": where the agent sees the progress of its worker. */
  hangDetection: "reprise.dev/hang-detection",
  /** On a JobSet (copied to its Pods) or on a Pod. */
  safeToForcefullyDelete: "reprise.dev/safe-to-forcefully-delete",
} as const;

/** Pod annotation, written by the agent: how much earlier runs left in shared memory that it could not remove. */
export const SHM_LEFTOVER_ANNOTATION = "reprise.dev/shm-leftover-bytes";

/** Pod annotation, written by the agent: the worker makes no progress (hang-report.ts). */
export const HANG_ANNOTATION = "reprise.dev/hang";

/** Pod annotation, written by the agent with its epoch: the last step of the epoch before. */
export const LAST_STEP_ANNOTATION = "reprise.dev/last-step";

/** The ConfigMap with the failure policies of a namespace, one per key. RBAC grants access to this name only. */
export const FAILURE_POLICIES_CONFIG_MAP = "reprise-failure-policies";

/** Names of JobSet (KEP-467). */
export const JOBSET = {
  group: "jobset.x-k8s.io",
  version: "v1alpha2",
  plural: "jobsets",
  kind: "JobSet",
  /** Label and annotation that JobSet sets on its Jobs and Pods. */
  nameKey: "jobset.sigs.k8s.io/jobset-name",
  uidKey: "jobset.sigs.k8s.io/jobset-uid",
  replicatedJobKey: "jobset.sigs.k8s.io/replicatedjob-name",
  jobIndexKey: "jobset.sigs.k8s.io/job-index",
  restartAttemptKey: "jobset.sigs.k8s.io/restart-attempt",
  /** Pod annotation of the `epoch` protocol, written by the agent. */
  epochAnnotation: "jobset.sigs.k8s.io/epoch",
  /** Pod annotation of JobSet's own protocol. */
  inPlaceRestartAttemptAnnotation: "jobset.sigs.k8s.io/in-place-restart-attempt",
} as const;

/** Kueue's annotations for forced deletion (KEP-6757). The second replaced the first in Kueue 0.17; both are in use. */
export const KUEUE = {
  safeToForcefullyTerminate: "kueue.x-k8s.io/safe-to-forcefully-terminate",
  safeToForcefullyDelete: "kueue.x-k8s.io/safe-to-forcefully-delete",
} as const;

/** The condition of a Pod that was forcefully deleted from a lost node. */
export const FAILURE_RECOVERY = {
  condition: "RepriseFailureRecovery",
  reason: "ForcefullyDeleted",
} as const;

/** Label that the Job controller sets on the Pods of an Indexed Job. */
export const COMPLETION_INDEX_LABEL = "batch.kubernetes.io/job-completion-index";

/** The agent container, its volume and its commands. */
export const AGENT = {
  container: "reprise-agent",
  tokenVolume: "reprise-agent-token",
  tokenMountPath: "/var/run/secrets/reprise.dev/agent",
  /** Where the agent sees the volume that workers mount at /dev/shm. */
  sharedMemoryMountPath: "/var/run/reprise.dev/shm",
  /** A small volume in memory, in which workers report their progress. */
  progressVolume: "reprise-progress",
  progressMountPath: "/var/run/reprise.dev/progress",
  /** Where the agent sees the volume of the user that the progress file is in. */
  userProgressMountPath: "/var/run/reprise.dev/user-progress",
  /** Path of the agent in the image. */
  binary: "/usr/local/bin/reprise-agent",
  /** `<binary> probe` is the startup probe of a Pod in which the agent has no port. It ends when the barrier lifts. */
  probeCommand: "probe",
} as const;

/** Environment variables of the agent, set by injection. */
export const AGENT_ENV = {
  namespace: "NAMESPACE",
  podName: "POD_NAME",
  podUid: "POD_UID",
  jobSetName: "JOBSET_NAME",
  jobSetUid: "JOBSET_UID",
  replicatedJob: "REPLICATED_JOB",
  restartExitCode: "RESTART_EXIT_CODE",
  /** "epoch" | "jobset". */
  protocol: "PROTOCOL",
  /** The number of Pods of the group, when it was injected. */
  groupSize: "GROUP_SIZE",
} as const;

/** The port of the agent's startup probe. Without it, `<binary> probe` asks. */
export const BARRIER_PORT_ENV = "BARRIER_PORT";

/** What the startup probe asks for: success when the barrier has lifted. */
export const BARRIER_PATH = "/barrier";

/** What is known about the progress of the worker, at the same port: for people who ask, never for decisions. */
export const PROGRESS_PATH = "/progress";

/** Folders in shared memory that the agent clears, separated by colons. Without it, the agent clears none. */
export const SHARED_MEMORY_ENV = "SHARED_MEMORY";

/** In workers: the file to touch, or to write `step=1234` to, once per step. */
export const PROGRESS_FILE_ENV = "REPRISE_PROGRESS_FILE";

/** Environment variables of an agent that detects hangs. */
export const HANG_ENV = {
  /** Milliseconds, or "learned". Without it, the agent detects none. */
  hangAfter: "HANG_AFTER_MS",
  startDeadline: "START_DEADLINE_MS",
  /** The path at which the agent sees the progress file. Without it, the agent asks NCCL. */
  progressFile: "PROGRESS_FILE",
  /** Addresses of the Pod, separated by commas: NCCL names its ranks by their address. */
  podIps: "POD_IPS",
} as const;

/** Where NCCL answers questions about its ranks. */
export const NCCL_RAS_PORT = 28_028;

/** Shared memory as every container sees it. */
export const SHARED_MEMORY_FOLDER = "/dev/shm";

/** The largest int32: "no limit" in Job fields. */
export const MAX_INT32 = 2_147_483_647;
