// Every label, annotation and well-known name that reprise reads or writes, in one place.
// Nothing here may be renamed once released: objects in users' clusters carry these strings.

export const GROUP = "reprise.dev";

/** Labels. */
export const LABEL = {
  /** On a namespace: opts its JobSets in. */
  injection: "reprise.dev/injection",
  /** On an injected JobSet and its Pods: cheap server-side selection for the controller's watches. */
  injected: "reprise.dev/injected",
} as const;

/** Annotations a user may write on a JobSet (or, where said, on a Pod). */
export const ANNOTATION = {
  /** "true" | "false": the toggle for one JobSet. */
  inject: "reprise.dev/inject",
  /** JSON written by the webhook: what was added, and by which version. */
  status: "reprise.dev/status",
  /** Comma-separated replicatedJobs that take part; default: all. */
  replicatedJobs: "reprise.dev/replicated-jobs",
  /** Comma-separated container names that are workers; default: all regular containers. */
  workerContainers: "reprise.dev/worker-containers",
  /** Name of a failure policy, of the namespace or of the install. */
  failurePolicy: "reprise.dev/failure-policy",
  failExitCodes: "reprise.dev/fail-exit-codes",
  recreateExitCodes: "reprise.dev/recreate-exit-codes",
  maxRestarts: "reprise.dev/max-restarts",
  escalateAfter: "reprise.dev/escalate-after",
  /**
   * "recreate" (default) | "continue": what happens when a Pod fails after others of its replicatedJob have succeeded.
   */
  onPartialSuccess: "reprise.dev/on-partial-success",
  nodeLossGrace: "reprise.dev/node-loss-grace",
  agentCpu: "reprise.dev/agent-cpu",
  agentMemory: "reprise.dev/agent-memory",
  /** On a JobSet (copied to its Pods) or on a Pod. */
  safeToForcefullyDelete: "reprise.dev/safe-to-forcefully-delete",
} as const;

/**
 * The ConfigMap in a namespace that holds its failure policies, one per key. The manifests grant this name and no
 * other.
 */
export const FAILURE_POLICIES_CONFIG_MAP = "reprise-failure-policies";

/** Names that belong to JobSet (KEP-467). */
export const JOBSET = {
  group: "jobset.x-k8s.io",
  version: "v1alpha2",
  plural: "jobsets",
  kind: "JobSet",
  /** Label and annotation that JobSet puts on its Jobs and Pods. */
  nameKey: "jobset.sigs.k8s.io/jobset-name",
  uidKey: "jobset.sigs.k8s.io/jobset-uid",
  replicatedJobKey: "jobset.sigs.k8s.io/replicatedjob-name",
  jobIndexKey: "jobset.sigs.k8s.io/job-index",
  restartAttemptKey: "jobset.sigs.k8s.io/restart-attempt",
  /** Pod annotation of the `epoch` protocol, written by the agent. */
  epochAnnotation: "jobset.sigs.k8s.io/epoch",
  /** Pod annotation of upstream's own protocol. */
  inPlaceRestartAttemptAnnotation: "jobset.sigs.k8s.io/in-place-restart-attempt",
} as const;

/** Kueue's opt-ins to force deletion (KEP-6757); the second replaced the first in Kueue 0.17, both are in use. */
export const KUEUE = {
  safeToForcefullyTerminate: "kueue.x-k8s.io/safe-to-forcefully-terminate",
  safeToForcefullyDelete: "kueue.x-k8s.io/safe-to-forcefully-delete",
} as const;

/** What a Pod shows that was freed from a lost node. */
export const FAILURE_RECOVERY = {
  condition: "RepriseFailureRecovery",
  reason: "ForcefullyDeleted",
} as const;

/** Label that the Job controller puts on the Pods of an Indexed Job. */
export const COMPLETION_INDEX_LABEL = "batch.kubernetes.io/job-completion-index";

/** The agent container and what belongs to it inside a Pod. */
export const AGENT = {
  container: "reprise-agent",
  tokenVolume: "reprise-agent-token",
  tokenMountPath: "/var/run/secrets/reprise.dev/agent",
  /** Where the image holds the compiled agent. */
  binary: "/usr/local/bin/reprise-agent",
  /** `<binary> gate` is the postStart hook, which ends when the barrier lifts. */
  gateCommand: "gate",
} as const;

/** Environment of the agent container, written by injection and read by the agent. */
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
} as const;

/** In every worker: the epoch (or, with upstream's protocol, the attempt) it was started in. */
export const EPOCH_ENV = "REPRISE_EPOCH";

/** Largest int32: what "no limit" is called in Job fields. */
export const MAX_INT32 = 2_147_483_647;
