// What each annotation and label is for, in the words that users read: docs/annotations.md is generated from this
// table. A name without words here does not compile.
import type { ANNOTATION, LABEL } from "./names.ts";

export interface AnnotationText {
  /** The objects it is written on. */
  readonly on: string;
  readonly values: string;
  /** What holds where it is not written. */
  readonly byDefault: string;
  readonly example: string;
  readonly description: string;
  /** Where the docs say more, from docs/. */
  readonly section: `${string}.md#${string}` | `${string}.md`;
}

export const ANNOTATION_TEXTS: Readonly<Record<keyof typeof ANNOTATION, AnnotationText>> = {
  inject: {
    on: "JobSet",
    values: '"true" or "false"',
    byDefault: "the setting `injection.default`, which is to inject",
    example: "false",
    description: "Takes one JobSet out of a labelled namespace, or in, where the install injects on request only.",
    section: "configuration.md#settings",
  },
  status: {
    on: "JobSet",
    values: "JSON, written by the webhook",
    byDefault: "not injected",
    example: '{"version":"0.1.0",…}',
    description:
      "The record of the injection: what was added, by which version and from which inputs, and the exit codes that a named policy stood for. Not for users to write.",
    section: "validation.md#updates",
  },
  replicatedJobs: {
    on: "JobSet",
    values: "names of replicatedJobs, separated by commas",
    byDefault: "all of them",
    example: "workers,driver",
    description: "The replicatedJobs that take part. The others run as they would without reprise.",
    section: "validation.md#rules",
  },
  workerContainers: {
    on: "JobSet",
    values: "names of containers, separated by commas",
    byDefault: "all regular containers",
    example: "trainer",
    description:
      "The containers whose failure restarts the group. Others, such as a log shipper, keep the restart rules that you gave them.",
    section: "failure-policy.md#several-containers",
  },
  failurePolicy: {
    on: "JobSet",
    values: "the name of a policy in the ConfigMap `reprise-failure-policies` of the namespace, or in the config file",
    byDefault: "none",
    example: "cuda-default",
    description: "Exit-code classes by a name. The two annotations below may add codes to it.",
    section: "failure-policy.md#named-policies",
  },
  failExitCodes: {
    on: "JobSet",
    values: "exit codes and ranges from 1 to 255, separated by commas",
    byDefault: "none",
    example: "40-50,137",
    description: "Exit codes of workers that fail the JobSet at once: a retry would end the same way.",
    section: "failure-policy.md#exit-code-classes",
  },
  recreateExitCodes: {
    on: "JobSet",
    values: "exit codes and ranges from 1 to 255, separated by commas",
    byDefault: "none",
    example: "64",
    description:
      "Exit codes of workers that need a new Pod, as with a broken device. The rest of the group restarts in place.",
    section: "failure-policy.md#exit-code-classes",
  },
  maxRestarts: {
    on: "JobSet",
    values: "a whole number from 0",
    byDefault: "`spec.failurePolicy.maxRestarts`, and 0 where that is not set either",
    example: "10",
    description:
      "How often the group may restart because of failures before the JobSet fails. Disruptions such as a drain are not counted.",
    section: "failure-policy.md#the-budget",
  },
  escalateAfter: {
    on: "JobSet",
    values: "a whole number from 0; 0 means never",
    byDefault: "3",
    example: "3",
    description: "After so many failures of the same Pod without progress, a restart in place is no longer enough.",
    section: "failure-policy.md#the-ladder",
  },
  onPartialSuccess: {
    on: "JobSet",
    values: '"recreate" or "continue"',
    byDefault: "recreate",
    example: "continue",
    description: "What happens when a Pod fails after others of its replicatedJob have succeeded.",
    section: "failure-policy.md#partial-success",
  },
  nodeLossGrace: {
    on: "JobSet",
    values: "a duration with a unit",
    byDefault: "300 s, as Kubernetes has it",
    example: "30s",
    description:
      "How long Pods stay bound to a node that is unreachable or not ready, as tolerations. What the Pod itself tolerates stays.",
    section: "failure-policy.md#lost-nodes-and-stuck-pods",
  },
  agentCpu: {
    on: "JobSet",
    values: "a quantity above 0",
    byDefault: "the setting `injection.agentResources.cpu`",
    example: "100m",
    description: "CPU request of the agent, and its limit in a Guaranteed Pod.",
    section: "configuration.md#settings",
  },
  agentMemory: {
    on: "JobSet",
    values: "a quantity of at least 1Mi",
    byDefault: "the setting `injection.agentResources.memory`",
    example: "64Mi",
    description: "Memory request and limit of the agent.",
    section: "configuration.md#settings",
  },
  safeToForcefullyDelete: {
    on: "JobSet (copied to its Pods) or Pod",
    values: '"true" or "false"',
    byDefault: "no consent",
    example: "true",
    description:
      "Consent to the forced deletion of a Pod that is stuck on a lost node, where a second copy of it may run for a while. Kueue's two annotations of that kind mean the same.",
    section: "failure-policy.md#lost-nodes-and-stuck-pods",
  },
};

export const LABEL_TEXTS: Readonly<Record<keyof typeof LABEL, AnnotationText>> = {
  injection: {
    on: "Namespace",
    values: '"enabled"',
    byDefault: "its JobSets are left alone",
    example: "enabled",
    description: "Opts the JobSets of the namespace in.",
    section: "validation.md#a-jobset-that-was-not-injected",
  },
  injected: {
    on: "JobSet and its Pods",
    values: '"true", written by the webhook',
    byDefault: "not injected",
    example: "true",
    description: "By this the controller finds what it is responsible for. Not for users to write.",
    section: "validation.md#rules",
  },
};
