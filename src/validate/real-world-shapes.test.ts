// Shapes of JobSets that people run, written after public examples: what injection does to each of them. A new shape
// that surprises a user belongs into this table.
import { describe, expect, it } from "vitest";
import { at, create, policies, settings } from "../../test/builders/injection.ts";
import { container, type JobSetBuilder, jobSet, type ReplicatedJobParts } from "../../test/builders/jobset.ts";
import { findingText, type SkipReason } from "../api/admission.ts";
import { AGENT, ANNOTATION, MAX_INT32 } from "../api/names.ts";
import { isObject, listAt, objectAt, textAt } from "../json/edit.ts";
import type { Json, JsonObject } from "../json/types.ts";
import { exitActions, FAILURE_CODES } from "../policy/exit-actions.ts";
import { formatCodes } from "../policy/exit-codes.ts";
import { preview } from "./preview.ts";

interface Expected {
  /** Restarts of the group: at least as many failures as the plain JobSet survives. */
  readonly budget: number;
  /** Containers that the kubelet retries as before, without the group. */
  readonly retried?: readonly string[];
  /** Exit codes that do not restart the group in place, by worker. None if omitted. */
  readonly down?: Readonly<Record<string, string>>;
  /** Rules that warn. None if omitted. */
  readonly warnings?: readonly string[];
  /** replicatedJobs that stay plain, and why. */
  readonly leftOut?: Readonly<Record<string, string>>;
}

type Shape = readonly [what: string, object: () => JobSetBuilder, expected: Expected | SkipReason];

const NEVER = { restartPolicy: "Never" };
const FAIL_FAST = { job: { backoffLimit: 0 }, pod: NEVER };
const TPU = container("jax-tpu", { resources: { limits: { "google.com/tpu": 4 } } });
const GPU = container("node", { resources: { limits: { "nvidia.com/gpu": 8 } } });

/** 42 and everything from 127 on is worth a retry: what xpk and the TPU recipes write for every slice. */
const RETRIABLE = [42, ...Array.from({ length: 129 }, (_, index) => 127 + index)];

function failJob(operator: "In" | "NotIn", values: readonly number[], containerName?: string): JsonObject {
  const named = containerName === undefined ? {} : { containerName };
  return { action: "FailJob", onExitCodes: { ...named, operator, values: [...values] } };
}

function withRules(...rules: JsonObject[]): JsonObject {
  return { podFailurePolicy: { rules } };
}

const FAIL_ON_POD_FAILURE_POLICY = { action: "FailJobSet", onJobFailureReasons: ["PodFailurePolicy"] };
const GCS_FUSE = { annotations: { "gke-gcsfuse/volumes": "true" } };
const BUCKET = { name: "bucket", csi: { driver: "gcsfuse.csi.storage.gke.io" } };

function leaderAndWorkers(parts: ReplicatedJobParts = { pods: 2, job: { backoffLimit: 0 } }): JobSetBuilder {
  return jobSet()
    .replicatedJob("leader", { ...parts, pods: 1, containers: [container("leader")] })
    .replicatedJob("workers", { ...parts, containers: [container("worker")] });
}

function upstreamAgent(fields: JsonObject = {}): JsonObject {
  return container("in-place-restart-agent", fields);
}

const SHAPES: readonly Shape[] = [
  [
    "a Kubeflow Trainer runtime for PyTorch",
    () => jobSet().replicatedJob("node", { containers: [GPU] }),
    { budget: 6 },
  ],
  [
    "a Kubeflow Trainer runtime whose dataset and model are fetched first",
    () =>
      jobSet()
        .replicatedJob("dataset-initializer", { containers: [container("dataset-initializer")] })
        .replicatedJob("model-initializer", { containers: [container("model-initializer")] })
        .replicatedJob("node", {
          dependsOn: [
            { name: "dataset-initializer", status: "Complete" },
            { name: "model-initializer", status: "Complete" },
          ],
          containers: [GPU],
        }),
    { budget: 6 },
  ],
  [
    "a Kubeflow Trainer runtime for MPI, whose launcher decides about success",
    () =>
      jobSet()
        .spec({ successPolicy: { operator: "All", targetReplicatedJobs: ["launcher"] } })
        .replicatedJob("node", { pods: 2, containers: [GPU] })
        .replicatedJob("launcher", { dependsOn: [{ name: "node", status: "Ready" }] }),
    { budget: 6 },
  ],
  [
    "a Kubeflow Trainer runtime for XGBoost that says OnFailure",
    () => jobSet().replicatedJob("node", { pods: 4, pod: { restartPolicy: "OnFailure" } }),
    { budget: 6 },
  ],
  [
    "a Flux runtime that installs Flux in an initContainer",
    () => jobSet().replicatedJob("node", { pods: 4, initContainers: [container("flux-installer")] }),
    { budget: 6, retried: ["flux-installer"], warnings: ["endless-retries"] },
  ],
  [
    "a Flux cluster of one Job",
    () => jobSet().replicatedJob("worker", { pods: 4, containers: [container("lammps")] }),
    { budget: 6 },
  ],
  [
    "an xpk workload, which retries only what a preemption causes",
    () =>
      jobSet()
        .label("kueue.x-k8s.io/queue-name", "multislice-queue")
        .spec({ failurePolicy: { maxRestarts: 0, rules: [FAIL_ON_POD_FAILURE_POLICY] } })
        .replicatedJob("slice-job", {
          pods: 4,
          job: { backoffLimit: 0, ...withRules(failJob("NotIn", RETRIABLE, "jax-tpu")) },
          pod: NEVER,
          containers: [TPU],
        }),
    { budget: 0, down: { "jax-tpu": "1-41,43-126" } },
  ],
  [
    "a TPU recipe with two workers in each Pod",
    () =>
      jobSet()
        .spec({ failurePolicy: { maxRestarts: 2, rules: [FAIL_ON_POD_FAILURE_POLICY] } })
        .replicatedJob("slice-job", {
          pods: 16,
          job: {
            backoffLimit: 0,
            ...withRules(failJob("NotIn", RETRIABLE, "jax-tpu-1"), failJob("NotIn", RETRIABLE, "jax-tpu-2")),
          },
          pod: NEVER,
          containers: [container("jax-tpu-1"), container("jax-tpu-2")],
        }),
    { budget: 2, down: { "jax-tpu-1": "1-41,43-126", "jax-tpu-2": "1-41,43-126" } },
  ],
  [
    "Pathways as xpk writes it",
    () =>
      jobSet()
        .spec({ failurePolicy: { restartStrategy: "Recreate" }, coordinator: { replicatedJob: "pathways-head" } })
        .replicatedJob("pathways-head", {
          pods: 1,
          ...FAIL_FAST,
          initContainers: [
            container("pathways-proxy", { restartPolicy: "Always" }),
            container("pathways-rm", { restartPolicy: "Always" }),
          ],
          containers: [TPU],
        })
        .replicatedJob("worker", {
          pods: 1,
          job: { backoffLimit: 4 },
          pod: { restartPolicy: "OnFailure" },
          containers: [container("pathways-worker")],
        }),
    { budget: 0, warnings: ["retries", "pathways"] },
  ],
  [
    "Pathways with FailJob rules that name no container",
    () =>
      jobSet()
        .spec({ failurePolicy: { maxRestarts: 3, rules: [FAIL_ON_POD_FAILURE_POLICY] } })
        .replicatedJob("pathways-head", {
          pods: 1,
          job: { backoffLimit: 0, ...withRules(failJob("NotIn", [42, 127])) },
          pod: NEVER,
          initContainers: [container("pathways-rm", { restartPolicy: "Always" })],
          containers: [container("workload")],
        })
        .replicatedJob("worker", { pods: 4, job: { backoffLimit: 16 }, containers: [container("pathways-worker")] }),
    {
      budget: 3,
      down: { workload: "1-41,43-126,128-255" },
      warnings: ["retries", "pod-failure-policy", "pathways"],
    },
  ],
  [
    "a Pathways job without any limit of retries",
    () =>
      jobSet()
        .spec({ failurePolicy: { maxRestarts: 100 } })
        .replicatedJob("worker", { pods: 8, job: { backoffLimit: 32_000_000 } }),
    { budget: MAX_INT32 },
  ],
  [
    "a GPU recipe for NeMo with GCS FUSE and an installer of NCCL plugins",
    () =>
      jobSet()
        .spec({ failurePolicy: { maxRestarts: 0 } })
        .replicatedJob("workload", {
          pods: 16,
          ...FAIL_FAST,
          podMetadata: GCS_FUSE,
          initContainers: [container("nccl-plugin-installer")],
          containers: [GPU],
        }),
    { budget: 0, warnings: ["gcs-fuse"] },
  ],
  [
    "a TPU training with a bucket and no word about restarts",
    () =>
      jobSet().replicatedJob("slice", {
        replicas: 2,
        pods: 4,
        job: { backoffLimit: 0 },
        pod: { volumes: [BUCKET] },
        initContainers: [container("fetch")],
        containers: [TPU],
      }),
    { budget: 3, retried: ["fetch"], warnings: ["endless-retries", "gcs-fuse"] },
  ],
  [
    "a TPU multislice job that Kueue starts",
    () =>
      jobSet()
        .label("kueue.x-k8s.io/queue-name", "tpu")
        .suspended()
        .replicatedJob("slice", { replicas: 2, pods: 4, ...FAIL_FAST, containers: [TPU] }),
    { budget: 3 },
  ],
  [
    "a hot-swap job with its own restart strategy",
    () =>
      jobSet()
        .spec({ failurePolicy: { maxRestarts: 10, restartStrategy: "BlockingRecreate" } })
        .replicatedJob("slice", { replicas: 2, pods: 4, job: { backoffLimit: 0 }, containers: [TPU] }),
    { budget: 10 },
  ],
  [
    "an NCCL benchmark with a deadline for its Pods",
    () => jobSet().replicatedJob("w", { pods: 4, pod: { ...NEVER, activeDeadlineSeconds: 3600 }, containers: [GPU] }),
    { budget: 6, warnings: ["active-deadline"] },
  ],
  [
    "an OSU benchmark with a deadline for its Jobs, which spans their retries with and without reprise",
    () =>
      jobSet()
        .replicatedJob("l", { pods: 1, job: { activeDeadlineSeconds: 31_500_000, backoffLimit: 100 } })
        .replicatedJob("w", { pods: 1, job: { activeDeadlineSeconds: 31_500_000, backoffLimit: 100 } }),
    { budget: 100 },
  ],
  [
    "a training with a deadline for each Job that JobSet recreates",
    () =>
      jobSet()
        .spec({ failurePolicy: { maxRestarts: 3 } })
        .replicatedJob("workers", { pods: 4, job: { activeDeadlineSeconds: 86_400, backoffLimit: 0 } }),
    { budget: 3, warnings: ["active-deadline"] },
  ],
  [
    "MPI with an SSH server as a sidecar",
    () =>
      jobSet()
        .replicatedJob("launcher", { pods: 1 })
        .replicatedJob("workers", {
          pods: 2,
          initContainers: [container("keys"), container("sshd", { restartPolicy: "Always" })],
        }),
    { budget: 6, retried: ["keys"], warnings: ["endless-retries"] },
  ],
  [
    "Flux with four containers that share their processes",
    () =>
      jobSet().replicatedJob("flux", {
        pods: 2,
        job: { backoffLimit: 0 },
        pod: { shareProcessNamespace: true },
        containers: ["flux1", "flux2", "flux3", "flux4"].map((name) => container(name)),
      }),
    { budget: 3 },
  ],
  [
    "a leader whose failure is final",
    () =>
      leaderAndWorkers().spec({
        failurePolicy: { maxRestarts: 3, rules: [{ action: "FailJobSet", targetReplicatedJobs: ["leader"] }] },
      }),
    { budget: 3 },
  ],
  [
    "a leader whose failure is exempted from the limit",
    () =>
      leaderAndWorkers().spec({
        failurePolicy: {
          maxRestarts: 2,
          rules: [{ action: "RestartJobSetAndIgnoreMaxRestarts", targetReplicatedJobs: ["leader"] }],
        },
      }),
    { budget: 2 },
  ],
  [
    "a driver that decides about success",
    () => leaderAndWorkers().spec({ successPolicy: { operator: "All", targetReplicatedJobs: ["leader"] } }),
    { budget: 3 },
  ],
  [
    "a driver that starts before its workers",
    () => leaderAndWorkers({ pods: 2 }).spec({ startupPolicy: { startupPolicyOrder: "InOrder" } }),
    { budget: 6 },
  ],
  [
    "a leader and four replicas of a worker that sets no number of Pods",
    () =>
      jobSet()
        .spec({ failurePolicy: { maxRestarts: 3 } })
        .replicatedJob("leader", FAIL_FAST)
        .replicatedJob("workers", { replicas: 4, ...FAIL_FAST }),
    { budget: 3 },
  ],
  [
    "the example of KEP-3329: one code is final, disruptions are not",
    () =>
      jobSet()
        .spec({ failurePolicy: { maxRestarts: 1 } })
        .replicatedJob("workers", {
          pods: 2,
          job: withRules(
            { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
            failJob("In", [42], "train"),
          ),
          pod: NEVER,
        }),
    { budget: 13, down: { train: "42" } },
  ],
  [
    "codes that are ignored before others fail the Job",
    () =>
      jobSet().replicatedJob("workers", {
        pods: 2,
        job: withRules(
          { action: "Ignore", onExitCodes: { containerName: "train", operator: "In", values: [40] } },
          failJob("In", [40, 41, 42], "train"),
        ),
        pod: NEVER,
      }),
    { budget: 6, down: { train: "41-42" } },
  ],
  [
    "a Job that fails on every code",
    () => jobSet().replicatedJob("workers", { pods: 2, job: withRules(failJob("NotIn", [0], "train")), pod: NEVER }),
    { budget: 6, down: { train: "1-253,255" }, warnings: ["pod-failure-policy"] },
  ],
  [
    "an Indexed Job with retries and failures for each index",
    () =>
      jobSet().replicatedJob("workers", {
        pods: 4,
        job: {
          backoffLimitPerIndex: 1,
          maxFailedIndexes: 2,
          ...withRules({ action: "FailIndex", onExitCodes: { containerName: "train", operator: "In", values: [3] } }),
        },
        pod: NEVER,
      }),
    { budget: 6, warnings: ["overwritten-field", "pod-failure-policy", "failed-indexes"] },
  ],
  [
    "a work queue with more completions than Pods",
    () => jobSet().replicatedJob("queue", { job: { completions: 10, parallelism: 3 } }),
    "all-left-out",
  ],
  [
    "a work queue that ends with the first Pod that finds it empty",
    () => jobSet().replicatedJob("queue", { job: { completionMode: "NonIndexed", parallelism: 8 } }),
    "all-left-out",
  ],
  [
    "a leader beside a work queue",
    () =>
      jobSet()
        .replicatedJob("leader", { pods: 1 })
        .replicatedJob("queue", { job: { completions: 10, parallelism: 3 } }),
    { budget: 6, warnings: ["completions"], leftOut: { queue: "completions" } },
  ],
  [
    "trainers beside a Job that succeeds with its first index",
    () =>
      jobSet()
        .spec({ failurePolicy: { maxRestarts: 1 } })
        .replicatedJob("trainers", { pods: 4, job: { backoffLimit: 0 } })
        .replicatedJob("search", { pods: 4, job: { successPolicy: { rules: [{ succeededIndexes: "0" }] } } }),
    { budget: 1, warnings: ["success-policy"], leftOut: { search: "success-policy" } },
  ],
  [
    "trainers on Linux beside a renderer on Windows",
    () =>
      jobSet()
        .replicatedJob("trainers", { pods: 2 })
        .replicatedJob("renderer", { pods: 1, pod: { nodeSelector: { "kubernetes.io/os": "windows" } } }),
    { budget: 6, warnings: ["linux-only"], leftOut: { renderer: "linux-only" } },
  ],
  [
    "JobSet's own in-place restart with the agent as a sidecar",
    () =>
      jobSet()
        .spec({ failurePolicy: { maxRestarts: 3, restartStrategy: "InPlaceRestart" } })
        .replicatedJob("rj", {
          pods: 2,
          job: { backoffLimit: MAX_INT32, podReplacementPolicy: "Failed" },
          initContainers: [upstreamAgent({ restartPolicy: "Always" })],
        }),
    "has-its-own-agent",
  ],
  [
    "JobSet's own in-place restart with the agent around the worker",
    () =>
      jobSet()
        .spec({ failurePolicy: { maxRestarts: 3, restartStrategy: "InPlaceRestart" } })
        .replicatedJob("rj", {
          pods: 2,
          containers: [upstreamAgent({ env: [{ name: "WORKER_COMMAND", value: "train" }] })],
        }),
    "has-its-own-agent",
  ],
  [
    "a trainer with a log shipper that is no worker",
    () =>
      jobSet()
        .annotation(ANNOTATION.workerContainers, "train")
        .replicatedJob("workers", { pods: 2, containers: [container("train"), container("log")] }),
    { budget: 6, retried: ["log"], warnings: ["endless-retries"] },
  ],
  [
    "a worker that a livenessProbe watches",
    () =>
      jobSet().replicatedJob("workers", {
        pods: 2,
        containers: [container("train", { livenessProbe: { exec: { command: ["true"] } } })],
      }),
    { budget: 6, warnings: ["liveness-probe"] },
  ],
  [
    "a server that saves its state in a preStop hook and takes long to start",
    () =>
      jobSet().replicatedJob("server", {
        pods: 2,
        containers: [
          container("server", {
            startupProbe: { httpGet: { path: "/health", port: 8000 } },
            lifecycle: { preStop: { exec: { command: ["save"] } } },
          }),
        ],
      }),
    { budget: 6, warnings: ["liveness-probe", "pre-stop"] },
  ],
  [
    "JobSet's example of RestartJob, whose other Jobs restart too",
    () =>
      leaderAndWorkers().spec({
        failurePolicy: {
          maxRestarts: 2,
          rules: [{ action: "RestartJob", targetReplicatedJobs: ["workers"] }],
        },
      }),
    { budget: 2, warnings: ["failure-rules"] },
  ],
  [
    "workers in a service mesh",
    () =>
      jobSet().replicatedJob("workers", {
        pods: 2,
        podMetadata: { annotations: { "sidecar.istio.io/inject": "true" } },
      }),
    { budget: 6, warnings: ["service-mesh"] },
  ],
  [
    "workers with devices of dynamic resource allocation",
    () =>
      jobSet().replicatedJob("workers", {
        replicas: 3,
        pods: 2,
        job: { backoffLimit: 0 },
        pod: { resourceClaims: [{ name: "shared-gpu", resourceClaimTemplateName: "gpu" }] },
      }),
    { budget: 3 },
  ],
];

/** Kubernetes cuts warnings at 256 characters, and the webhook adds a prefix. */
const MAX_WARNING = 256 - "reprise: ".length;

function previewOf(object: JsonObject) {
  return preview({ namespace: "default", object, config: settings, policies });
}

const injectable = SHAPES.flatMap(([what, builder, expected]) =>
  typeof expected === "string" ? [] : [[what, builder, expected] as const],
);
const skipped = SHAPES.flatMap(([what, builder, expected]) =>
  typeof expected === "string" ? [[what, builder, expected] as const] : [],
);

it.each(SHAPES)("nothing refuses %s", (_what, builder) => {
  expect(create(builder().build()).kind).not.toBe("refused");
  expect(previewOf(builder().build()).verdict).toMatchObject({ allowed: true, errors: [] });
});

it.each(skipped)("%s stays as it is", (_what, builder, reason) => {
  const outcome = create(builder().build());
  expect(outcome).toMatchObject({ kind: "skipped", reason });
  expect(outcome.warnings).toHaveLength(1);
});

describe.each(injectable)("%s", (_what, builder, expected) => {
  const outcome = create(builder().build());
  const result = outcome.kind === "injected" ? outcome.object : {};
  const record = JSON.parse(textAt(objectAt(objectAt(result, "metadata"), "annotations"), ANNOTATION.status) ?? "{}");

  it("survives at least as many failures as before", () => {
    expect(record.budget.max).toBe(expected.budget);
  });

  it("keeps the retries of containers that are no workers", () => {
    expect(containersOf(result).flatMap(retriedName)).toEqual(expected.retried ?? []);
  });

  it("restarts in place on every code that its own rules do not make final", () => {
    expect(Object.fromEntries(containersOf(result).flatMap(finalCodes))).toEqual(expected.down ?? {});
  });

  it("keeps its policies, and its own rules before the injected ones", () => {
    const plain = builder().build();
    for (const policy of ["failurePolicy", "successPolicy", "startupPolicy"]) {
      expect(at(result, "spec", policy)).toEqual(at(plain, "spec", policy));
    }
    const ownRules = jobsOf(plain).map(podFailureRulesOf);
    expect(jobsOf(result).map((job, index) => podFailureRulesOf(job).slice(0, ownRules[index]?.length))).toEqual(
      ownRules,
    );
  });

  it("gives the agent no share of a queue that has no quota for CPU and memory", () => {
    const agents = containersOf(result).filter(({ name }) => name === AGENT.container);
    expect(agents.length).toBeGreaterThan(0);
    for (const agent of agents) expect(agent).not.toHaveProperty("resources");
  });

  it("warns only where something is lost", () => {
    const { warnings } = previewOf(builder().build());
    for (const warning of warnings) {
      expect(findingText(warning).length).toBeLessThanOrEqual(MAX_WARNING);
    }
    expect(warnings.map(({ rule }) => rule)).toEqual(expected.warnings ?? []);
  });

  it("leaves out only what cannot restart in place", () => {
    const listed: { name: string; reason: string }[] = record.leftOut ?? [];
    expect(Object.fromEntries(listed.map(({ name, reason }) => [name, reason]))).toEqual(expected.leftOut ?? {});
    const plain = jobsOf(builder().build());
    for (const [index, job] of jobsOf(result).entries()) {
      const isLeftOut = Object.hasOwn(expected.leftOut ?? {}, String(job["name"]));
      if (isLeftOut) expect(job).toEqual(plain[index]);
      else expect(job).not.toEqual(plain[index]);
    }
  });
});

function jobsOf(object: JsonObject): JsonObject[] {
  return listAt(objectAt(object, "spec"), "replicatedJobs").filter(isObject);
}

function podFailureRulesOf(job: JsonObject): readonly Json[] {
  const policy = at(job, "template", "spec", "podFailurePolicy");
  return isObject(policy) ? listAt(policy, "rules") : [];
}

function containersOf(object: JsonObject): JsonObject[] {
  return jobsOf(object).flatMap((job) => {
    const podSpec = at(job, "template", "spec", "template", "spec");
    if (!isObject(podSpec)) return [];
    return [...listAt(podSpec, "initContainers"), ...listAt(podSpec, "containers")].filter(isObject);
  });
}

function retriedName({ name, restartPolicy }: JsonObject): string[] {
  return restartPolicy === "OnFailure" ? [String(name)] : [];
}

/** The codes on which a worker stays down, as text. */
function finalCodes(each: JsonObject): [string, string][] {
  if (each["restartPolicy"] !== "Never") return [];
  const action = exitActions(listAt(each, "restartPolicyRules"));
  const codes = FAILURE_CODES.filter((code) => action(code) !== "RestartAllContainers");
  return codes.length === 0 ? [] : [[String(each["name"]), formatCodes(codes)]];
}
