// The objects of a simulation as their controllers create them.
import { type Job, NEW_JOB } from "../api/job.ts";
import type { FailureRule, JobSet } from "../api/jobset.ts";
import { AGENT, AGENT_ENV, ANNOTATION } from "../api/names.ts";
import { NEW_POD, type Pod } from "../api/pod.ts";
import { FAIL_JOB_SET_RULE, podFailureRules, workerRestartRule } from "../policy/compile.ts";
import { RESTART_EVERYTHING } from "../policy/exit-codes.ts";
import { RESTART_EXIT_CODE, WORKER } from "./pod-status.ts";
import { JOB_SET, type JobSetShape, NAMESPACE, NODES, type StageShape } from "./shape.ts";

/** The rule that injection adds for exit codes that fail the JobSet. */
const FAIL_BY_CODE: FailureRule = {
  name: FAIL_JOB_SET_RULE,
  action: "FailJobSet",
  targetReplicatedJobs: [],
  onJobFailureReasons: ["PodFailurePolicy"],
  onJobFailureMessagePatterns: [],
};

export function jobSetOf(shape: JobSetShape, uid: string, resourceVersion: string): JobSet {
  const { stages, inOrder, maxRestarts, escalateAfter, hangAfterMs, policies = {} } = shape;
  const { successPolicy, failCodes = [], backoffLimits } = policies;
  const codes = { ...RESTART_EVERYTHING, fail: failCodes };
  const rules = failCodes.length === 0 ? policies.rules : [FAIL_BY_CODE, ...(policies.rules ?? [])];
  const template = {
    spec: {
      podFailurePolicy: { rules: podFailureRules(codes, [WORKER]) },
      template: {
        spec: {
          initContainers: [
            {
              name: AGENT.container,
              env: [{ name: AGENT_ENV.restartExitCode, value: String(RESTART_EXIT_CODE) }],
              volumeMounts: [{ name: AGENT.tokenVolume }],
            },
          ],
          containers: [{ name: WORKER, restartPolicyRules: [workerRestartRule(codes)] }],
        },
      },
    },
  };
  return {
    name: JOB_SET,
    namespace: NAMESPACE,
    uid,
    resourceVersion,
    labels: {},
    annotations: {
      ...(escalateAfter === undefined ? {} : { [ANNOTATION.escalateAfter]: String(escalateAfter) }),
      ...(hangAfterMs === undefined ? {} : { [ANNOTATION.onHang]: "restart" }),
      ...(backoffLimits === undefined ? {} : { [ANNOTATION.status]: JSON.stringify({ backoffLimits }) }),
    },
    suspended: false,
    replicatedJobs: stages.map((stage) => ({ ...stage, completions: stage.parallelism, template })),
    startupOrder: inOrder ? "InOrder" : "AnyOrder",
    failurePolicy: { maxRestarts, restartStrategy: "Recreate", ...(rules === undefined ? {} : { rules }) },
    ...(successPolicy === undefined ? {} : { successPolicy }),
    conditions: [],
    restarts: 0,
    restartsCountTowardsMax: 0,
    outcome: "none",
  };
}

export function jobOf(jobSet: JobSet, stage: StageShape, index: number, uid: string, resourceVersion: string): Job {
  return {
    name: `${jobSet.name}-${stage.name}-${index}`,
    namespace: jobSet.namespace,
    uid,
    resourceVersion,
    controller: { kind: "JobSet", name: jobSet.name, uid: jobSet.uid },
    replicatedJob: stage.name,
    jobIndex: index,
    parallelism: stage.parallelism,
    completions: stage.parallelism,
    ...NEW_JOB,
  };
}

export function podOf(
  jobSet: JobSet,
  job: Job,
  index: number,
  uid: string,
  number: number,
  resourceVersion: string,
): Pod {
  return {
    name: `${job.name}-${index}-${number.toString(36).padStart(5, "0")}`,
    namespace: job.namespace,
    uid,
    resourceVersion,
    controller: { kind: "Job", name: job.name, uid: job.uid },
    jobSetName: jobSet.name,
    jobSetUid: jobSet.uid,
    replicatedJob: job.replicatedJob,
    completionIndex: index,
    node: NODES[number % NODES.length] ?? "",
    ...NEW_POD,
  };
}
