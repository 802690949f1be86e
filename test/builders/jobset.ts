// Builds plain JobSets for tests: jobSet("train").replicatedJob("workers", { pods: 4 }).build()

import { JOBSET } from "../../src/api/names.ts";
import type { Json, JsonObject } from "../../src/json/types.ts";

export interface ReplicatedJobParts {
  readonly replicas?: number;
  /** Sets both completions and parallelism. Without it neither is set. */
  readonly pods?: number;
  readonly dependsOn?: readonly { readonly name: string; readonly status: "Ready" | "Complete" }[];
  /** More fields of the Job's spec. */
  readonly job?: JsonObject;
  /** The Pod template's metadata. */
  readonly podMetadata?: JsonObject;
  /** More fields of the Pod's spec. */
  readonly pod?: JsonObject;
  readonly containers?: readonly JsonObject[];
  readonly initContainers?: readonly JsonObject[];
}

/** A container with an image and the given fields. */
export function container(name: string, fields: JsonObject = {}): JsonObject {
  return { name, image: `registry.example/${name}:1`, ...fields };
}

export class JobSetBuilder {
  readonly #metadata: JsonObject;
  readonly #annotations: Record<string, string> = {};
  readonly #labels: Record<string, string> = {};
  readonly #spec: JsonObject = {};
  readonly #replicatedJobs: Json[] = [];

  constructor(name: string) {
    this.#metadata = { name, namespace: "default" };
  }

  annotation(key: string, value: string): this {
    this.#annotations[key] = value;
    return this;
  }

  label(key: string, value: string): this {
    this.#labels[key] = value;
    return this;
  }

  /** Any other field of metadata. */
  metadata(fields: JsonObject): this {
    Object.assign(this.#metadata, fields);
    return this;
  }

  /** Any other field of spec. */
  spec(fields: JsonObject): this {
    Object.assign(this.#spec, fields);
    return this;
  }

  suspended(value = true): this {
    return this.spec({ suspend: value });
  }

  replicatedJob(name: string, parts: ReplicatedJobParts = {}): this {
    const { replicas, pods, dependsOn, job, podMetadata, pod, initContainers } = parts;
    const containers = parts.containers ?? [container("train")];
    this.#replicatedJobs.push({
      name,
      ...(replicas === undefined ? {} : { replicas }),
      ...(dependsOn === undefined ? {} : { dependsOn: dependsOn.map((dependency) => ({ ...dependency })) }),
      template: {
        spec: {
          ...(pods === undefined ? {} : { completions: pods, parallelism: pods }),
          ...job,
          template: {
            ...(podMetadata === undefined ? {} : { metadata: podMetadata }),
            spec: {
              ...pod,
              ...(initContainers === undefined ? {} : { initContainers: [...initContainers] }),
              containers: [...containers],
            },
          },
        },
      },
    });
    return this;
  }

  /** A new object each time that shares nothing, like a parsed request. */
  build(): JsonObject {
    const { metadata, annotations, labels } = {
      metadata: this.#metadata,
      annotations: this.#annotations,
      labels: this.#labels,
    };
    return structuredClone({
      apiVersion: `${JOBSET.group}/${JOBSET.version}`,
      kind: JOBSET.kind,
      metadata: {
        ...metadata,
        ...(Object.keys(labels).length === 0 ? {} : { labels }),
        ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      },
      spec: { ...this.#spec, replicatedJobs: this.#replicatedJobs },
    });
  }
}

export function jobSet(name = "train"): JobSetBuilder {
  return new JobSetBuilder(name);
}
