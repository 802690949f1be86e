// The JobSets that the webhook's benchmarks send, and the review an API server wraps them in.
import type { JsonObject } from "../src/json/types.ts";

/** replicatedJobs for a JobSet of that size; each is about 4.9 KB. */
export const SIZES = { "6 KB": 1, "230 KB": 48 } as const;
export type Size = keyof typeof SIZES;

/** Like those of training frameworks: two containers and mostly environment variables. */
export function jobSet(size: Size, namespace: string): JsonObject {
  return {
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: { name: "train", namespace, labels: { team: "vision" } },
    spec: {
      failurePolicy: { maxRestarts: 10 },
      replicatedJobs: Array.from({ length: SIZES[size] }, (_, index) => replicatedJob(`workers-${index}`)),
    },
  };
}

/** The body that the API server sends when `object` is created. */
export function createReview(object: JsonObject, namespace: string): Buffer {
  const kind = { group: "jobset.x-k8s.io", version: "v1alpha2", kind: "JobSet" };
  const resource = { group: "jobset.x-k8s.io", version: "v1alpha2", resource: "jobsets" };
  return Buffer.from(
    JSON.stringify({
      kind: "AdmissionReview",
      apiVersion: "admission.k8s.io/v1",
      request: {
        uid: "0df28fbd-5f5f-11e8-bc74-36e6bb280816",
        kind,
        resource,
        requestKind: kind,
        requestResource: resource,
        name: "train",
        namespace,
        operation: "CREATE",
        userInfo: { username: "argocd", groups: ["system:serviceaccounts", "system:authenticated"] },
        object,
        oldObject: null,
        dryRun: false,
        options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
      },
    }),
  );
}

function replicatedJob(name: string): JsonObject {
  const env = Array.from({ length: 40 }, (_, index) => ({
    name: `NCCL_SETTING_NUMBER_${index}`,
    value: `value-of-the-setting-${index}`,
  }));
  const container = {
    name: "trainer",
    image: "registry.example/vision/trainer:2026.11.1",
    command: ["python", "-m", "torch.distributed.run", "--nnodes=64", "--nproc-per-node=8", "train.py"],
    env,
    ports: [{ containerPort: 29_500 }],
    resources: {
      requests: { cpu: "32", memory: "256Gi", "nvidia.com/gpu": "8" },
      limits: { cpu: "32", memory: "256Gi", "nvidia.com/gpu": "8" },
    },
    volumeMounts: [
      { name: "shm", mountPath: "/dev/shm" },
      { name: "checkpoints", mountPath: "/checkpoints" },
    ],
  };
  const exporter = { name: "exporter", image: "registry.example/tools/exporter:1", env: env.slice(0, 20) };
  const volumes = [
    { name: "shm", emptyDir: { medium: "Memory" } },
    { name: "checkpoints", persistentVolumeClaim: { claimName: "checkpoints" } },
  ];
  const spec = { restartPolicy: "Never", containers: [container, exporter], volumes };
  const template = { metadata: { labels: { app: "train" } }, spec };
  return { name, replicas: 1, template: { spec: { parallelism: 64, completions: 64, backoffLimit: 0, template } } };
}
