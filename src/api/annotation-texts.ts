// The purpose of each annotation and label. docs/annotations.md is generated from this table, so users read it.
// A name without an entry here does not compile.
import type { ANNOTATION, LABEL } from "./names.ts";

export interface AnnotationText {
  /** The kinds of object that have it. */
  readonly on: string;
  readonly values: string;
  /** What applies without it. */
  readonly byDefault: string;
  readonly example: string;
  readonly description: string;
  /** The page with more details, relative to docs/. */
  readonly section: `${string}.md#${string}` | `${string}.md`;
}

export const ANNOTATION_TEXTS: Readonly<Record<keyof typeof ANNOTATION, AnnotationText>> = {
  inject: {
    on: "JobSet",
    values: '"true" or "false"',
    byDefault: "the setting `injection.default`, which injects",
    example: "false",
    description:
      "Turns injection off for one JobSet of a labeled namespace, or on if `injection.default` is `disabled`.",
    section: "configuration.md#settings",
  },
  status: {
    on: "JobSet",
    values: "JSON, written by the webhook",
    byDefault: "not injected",
    example: '{"version":"0.1.0",…}',
    description:
      "The record of the injection: version, inputs, additions, the restart budget and its source, the " +
      "replicatedJobs that are left out, the exit codes of a named policy, and the backoffLimits after which rules " +
      "of failurePolicy apply. Do not edit it.",
    section: "validation.md#updates",
  },
  replicatedJobs: {
    on: "JobSet",
    values: "names of replicatedJobs, separated by commas",
    byDefault: "all of them",
    example: "workers,driver",
    description: "The replicatedJobs that restart in place. The others run as in a plain JobSet.",
    section: "validation.md#rules",
  },
  workerContainers: {
    on: "JobSet",
    values: "names of containers, separated by commas",
    byDefault: "all regular containers",
    example: "trainer",
    description:
      "The containers whose failure restarts the group. Others, such as a log shipper, keep their own restart rules.",
    section: "failure-policy.md#several-containers",
  },
  failurePolicy: {
    on: "JobSet",
    values: "the name of a policy in the ConfigMap `reprise-failure-policies` of the namespace, or in the config file",
    byDefault: "none",
    example: "cuda-default",
    description: "A named set of exit-code classes. The two annotations below may add codes to it.",
    section: "failure-policy.md#named-policies",
  },
  failExitCodes: {
    on: "JobSet",
    values: "exit codes and ranges from 1 to 255, separated by commas",
    byDefault: "none",
    example: "40-50,137",
    description: "Exit codes of workers that fail the JobSet at once, because a retry would fail the same way.",
    section: "failure-policy.md#exit-code-classes",
  },
  recreateExitCodes: {
    on: "JobSet",
    values: "exit codes and ranges from 1 to 255, separated by commas",
    byDefault: "none",
    example: "64",
    description:
      "Exit codes of workers that need a new Pod, for example after a device failure. The rest of the group restarts " +
      "in place.",
    section: "failure-policy.md#exit-code-classes",
  },
  maxRestarts: {
    on: "JobSet, or Namespace for its JobSets",
    values: "a whole number from 0",
    byDefault: "the setting `injection.defaultMaxRestarts`, or else as many as the plain JobSet survives",
    example: "10",
    description:
      "How many failures may restart the group before the JobSet fails. Disruptions such as a node drain do not count.",
    section: "failure-policy.md#the-budget",
  },
  restartRequest: {
    on: "JobSet",
    values: "a text of 1 to 200 characters in one line",
    byDefault: "no request",
    example: "loss is NaN (alice, 2026-01-01T12:00:00Z)",
    description:
      "Restarts the whole group in place, by hand: once for each new text, and not counted. The text appears in the " +
      "history and in Events. A JobSet that is created with it does not restart. `reprise restart` writes it.",
    section: "operations.md#restart-a-group-by-hand",
  },
  escalateAfter: {
    on: "JobSet",
    values: "a whole number from 0; 0 means never",
    byDefault: "3",
    example: "3",
    description:
      "After this many failures of the same Pod without progress, the Pod is replaced instead of restarted in place.",
    section: "failure-policy.md#the-ladder",
  },
  onPartialSuccess: {
    on: "JobSet",
    values: '"recreate" or "continue"',
    byDefault: "recreate",
    example: "continue",
    description: "What happens if a Pod fails after others of its replicatedJob succeeded.",
    section: "failure-policy.md#partial-success",
  },
  nodeLossGrace: {
    on: "JobSet",
    values: "a duration with a unit",
    byDefault: "300 s, the default of Kubernetes",
    example: "30s",
    description:
      "How long Pods stay bound to a node that is unreachable or not ready. Sets tolerations; tolerations of the Pod " +
      "itself stay.",
    section: "failure-policy.md#lost-nodes-and-stuck-pods",
  },
  agentCpu: {
    on: "JobSet",
    values: "a quantity above 0",
    byDefault: "the setting `injection.agentResources.cpu`; none if no container requests CPU",
    example: "100m",
    description: "CPU request of the agent, and its limit in a Guaranteed Pod.",
    section: "configuration.md#settings",
  },
  agentMemory: {
    on: "JobSet",
    values: "a quantity of at least 1Mi",
    byDefault: "the setting `injection.agentResources.memory`; none if no container requests memory",
    example: "64Mi",
    description: "Memory request and limit of the agent.",
    section: "configuration.md#settings",
  },
  keepSharedMemory: {
    on: "JobSet",
    values: '"true" or "false"',
    byDefault: "false",
    example: "true",
    description:
      "Keeps what the workers leave in `/dev/shm` when they restart in place, for programs that keep checkpoints in " +
      "memory. By default the agent removes what it can before the workers start.",
    section: "failure-policy.md#what-a-worker-finds-after-a-restart-in-place",
  },
  hangAfter: {
    on: "JobSet",
    values: 'a duration from 1s, or "learned"',
    byDefault: "no hang detection, unless another annotation about hangs is set; then learned",
    example: "15m",
    description:
      "Turns hang detection on. The group hangs if none of the workers that report progress has made any for this " +
      "long. `learned` is five times the longest pause so far, and at least ten minutes. Must be longer than a " +
      "checkpoint or a compilation.",
    section: "hangs.md#choose-a-limit",
  },
  onHang: {
    on: "JobSet",
    values: '"warn" or "restart"',
    byDefault: "warn",
    example: "restart",
    description:
      "What happens to a group that hangs: an Event and a condition, or a counted restart in place. May be changed " +
      "while the JobSet runs.",
    section: "hangs.md#what-happens-to-a-group-that-hangs",
  },
  startDeadline: {
    on: "JobSet",
    values: "a duration from 1s",
    byDefault: "none: a worker that never reports is never judged",
    example: "30m",
    description:
      "How long the workers may run until their first sign of progress. Later, the group is treated as one that hangs.",
    section: "hangs.md#a-hang-at-start",
  },
  progressFile: {
    on: "JobSet",
    values: "the absolute path of a file in a volume that the workers mount",
    byDefault: "the file in `REPRISE_PROGRESS_FILE`, in a small volume of injection",
    example: "/checkpoints/latest",
    description:
      "A file that changes while the job makes progress, such as a log or the pointer to the last checkpoint.",
    section: "hangs.md#a-file-that-you-have-already",
  },
  hangDetection: {
    on: "JobSet",
    values: '"file" or "nccl-ras"',
    byDefault: "file",
    example: "file",
    description: "How agents see progress: in a file, or by asking the RAS service of NCCL 2.28.7 or newer.",
    section: "hangs.md#nccl",
  },
  safeToForcefullyDelete: {
    on: "JobSet (copied to its Pods) or Pod",
    values: '"true" or "false"',
    byDefault: "no forced deletion",
    example: "true",
    description:
      "Allows the forced deletion of a Pod that is stuck on a lost node, where a second copy of it may still run for " +
      "a while. The two annotations of Kueue have the same meaning.",
    section: "failure-policy.md#lost-nodes-and-stuck-pods",
  },
};

export const LABEL_TEXTS: Readonly<Record<keyof typeof LABEL, AnnotationText>> = {
  injection: {
    on: "Namespace",
    values: '"enabled"',
    byDefault: "its JobSets are not injected",
    example: "enabled",
    description: "Turns injection on for the JobSets of the namespace.",
    section: "validation.md#a-jobset-that-was-not-injected",
  },
  injected: {
    on: "JobSet and its Pods",
    values: '"true", written by the webhook',
    byDefault: "not injected",
    example: "true",
    description: "Selects the objects that the controller watches. Do not edit it.",
    section: "validation.md#rules",
  },
};
