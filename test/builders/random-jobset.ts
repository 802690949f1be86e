// Random JobSets from a seed: mostly well-formed, mixed with junk, nulls, hostile keys and unknown fields.

import { AGENT, ANNOTATION, LABEL } from "../../src/api/names.ts";
import type { Json, JsonObject } from "../../src/json/types.ts";
import { FAIL_JOB_SET_RULE } from "../../src/policy/compile.ts";

/** Numbers in [0, 1) from a seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const TEXTS = ["", "true", "false", "train", "workers", "0", "40-50", "1Gi", "\u0000", "é…", "a,b", "x".repeat(300)];
const KEYS = [
  "__proto__",
  "constructor",
  "toString",
  "name",
  "spec",
  "metadata",
  "a/b~c",
  "",
  "fieldOfTheFuture",
  "length",
];
const NAMES = ["train", "log", "workers", "driver", "fetch", "mesh", AGENT.container, AGENT.tokenVolume];
const QUANTITIES: readonly Json[] = ["1", 1, "1000m", "0.5", "0", "1Gi", "-1", "many", "1e3", null];

export class RandomJobSet {
  readonly #random: () => number;
  /** Probability that a value is junk. */
  readonly #junkiness: number;

  constructor(seed: number) {
    this.#random = seeded(seed);
    // Half of all objects are well-formed, so that tests also reach the deep paths.
    this.#junkiness = this.#random() < 0.5 ? 0 : this.#random() * 0.1;
  }

  /** Whether every field has the type of the schema. */
  get storable(): boolean {
    return this.#junkiness === 0;
  }

  build(): JsonObject {
    const object: JsonObject = {
      apiVersion: this.#chance(0.02) ? this.#text() : "jobset.x-k8s.io/v1alpha2",
      kind: this.#chance(0.02) ? this.#text() : "JobSet",
      metadata: this.#or(() => this.#metadata(this.#annotations())),
      spec: this.#or(() => this.#spec()),
    };
    return this.#chance(0.1) ? { ...object, ...this.#future() } : object;
  }

  #spec(): JsonObject {
    return {
      ...this.#maybe(0.2, "suspend", () => this.#chance(0.5)),
      ...this.#maybe(0.1, "managedBy", () => "jobset.sigs.k8s.io/jobset-controller"),
      ...this.#maybe(0.3, "failurePolicy", () => ({
        ...this.#maybe(0.5, "maxRestarts", () => this.#int(5)),
        ...this.#maybe(0.5, "restartStrategy", () => this.#pick(["Recreate", "InPlaceRestart"])),
        ...this.#maybe(0.5, "rules", () => this.#list(3, () => this.#failureRule())),
      })),
      ...this.#maybe(0.1, "network", () => this.#future()),
      ...this.#future(),
      replicatedJobs: this.#or(() => this.#list(2, () => this.#replicatedJob()).concat(this.#replicatedJob())),
    };
  }

  #failureRule(): JsonObject {
    return {
      name: this.#chance(0.1) ? FAIL_JOB_SET_RULE : this.#pick(["a", "b"]),
      action: this.#pick(["FailJobSet", "RestartJobSet"]),
      ...this.#maybe(0.5, "onJobFailureReasons", () => ["PodFailurePolicy"]),
    };
  }

  #replicatedJob(): Json {
    const pods = this.#int(4);
    return this.#or(() => ({
      name: this.#or(() => this.#pick(NAMES)),
      ...this.#maybe(0.3, "replicas", () => this.#int(4)),
      ...this.#future(),
      template: this.#or(() => ({
        ...this.#maybe(0.2, "metadata", () => this.#metadata({})),
        spec: this.#or(() => ({
          ...this.#maybe(0.6, "completions", () => (this.#chance(0.03) ? this.#int(4) : pods)),
          ...this.#maybe(0.95, "parallelism", () => pods),
          ...this.#maybe(0.2, "backoffLimit", () => this.#int(7)),
          ...this.#maybe(0.2, "completionMode", () => this.#pick(["Indexed", "NonIndexed"])),
          ...this.#maybe(0.2, "podReplacementPolicy", () => this.#pick(["Failed", "TerminatingOrFailed"])),
          ...this.#maybe(0.2, "podFailurePolicy", () => ({ rules: this.#list(3, () => this.#podFailureRule()) })),
          ...this.#future(),
          template: this.#or(() => ({
            ...this.#maybe(0.4, "metadata", () => this.#metadata({})),
            spec: this.#or(() => this.#podSpec()),
          })),
        })),
      })),
    }));
  }

  #podFailureRule(): JsonObject {
    return this.#chance(0.5)
      ? { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] }
      : { action: "FailJob", onExitCodes: { containerName: "train", operator: "In", values: [this.#int(50)] } };
  }

  #podSpec(): JsonObject {
    return {
      ...this.#maybe(0.2, "hostNetwork", () => this.#chance(0.5)),
      ...this.#maybe(0.3, "restartPolicy", () => this.#pick(["Never", "OnFailure", "Always"])),
      ...this.#maybe(0.2, "securityContext", () => ({ runAsUser: this.#int(2) })),
      ...this.#maybe(0.01, "os", () => ({ name: this.#pick(["linux", "windows"]) })),
      ...this.#maybe(0.1, "resources", () => this.#resources()),
      ...this.#maybe(0.3, "volumes", () =>
        this.#list(3, () => ({
          name: this.#pick(NAMES.slice(0, this.#chance(0.1) ? NAMES.length : 6)),
          emptyDir: this.#maybe(0.5, "medium", () => "Memory"),
        })),
      ),
      ...this.#maybe(0.2, "imagePullSecrets", () => this.#list(2, () => ({ name: this.#pick(NAMES) }))),
      ...this.#maybe(0.3, "tolerations", () => this.#list(3, () => this.#toleration())),
      ...this.#maybe(0.3, "initContainers", () => this.#list(3, () => this.#container())),
      ...this.#future(),
      containers: this.#or(() => [this.#container(), ...this.#list(2, () => this.#container())]),
    };
  }

  #toleration(): JsonObject {
    return {
      ...this.#maybe(0.8, "key", () => this.#pick(["node.kubernetes.io/unreachable", "gpu", ""])),
      operator: "Exists",
      ...this.#maybe(0.6, "effect", () => this.#pick(["NoExecute", "NoSchedule", ""])),
      ...this.#maybe(0.3, "tolerationSeconds", () => this.#int(60)),
    };
  }

  #container(): Json {
    return this.#or(() => ({
      name: this.#or(() => this.#pick(NAMES.slice(0, this.#chance(0.03) ? NAMES.length : 6))),
      image: "registry.example/any:1",
      ...this.#maybe(0.2, "restartPolicy", () => this.#pick(["Never", "Always", "OnFailure"])),
      ...this.#maybe(0.2, "restartPolicyRules", () =>
        this.#list(3, () => ({
          action: this.#pick(["Restart", "RestartAllContainers"]),
          exitCodes: { operator: this.#pick(["In", "NotIn"]), values: [this.#int(3)] },
        })),
      ),
      ...this.#maybe(0.3, "env", () => this.#list(3, () => ({ name: this.#pick(NAMES), value: this.#text() }))),
      ...this.#maybe(0.2, "volumeMounts", () =>
        this.#list(2, () => ({ name: this.#pick(NAMES), mountPath: this.#pick(["/x", "/dev/shm"]) })),
      ),
      ...this.#maybe(0.1, "securityContext", () => ({ runAsUser: this.#int(2) })),
      ...this.#maybe(0.4, "resources", () => this.#resources()),
      ...this.#future(),
    }));
  }

  #resources(): JsonObject {
    const amounts = () => ({ cpu: this.#pick(QUANTITIES), memory: this.#pick(QUANTITIES) });
    return { ...this.#maybe(0.7, "limits", amounts), ...this.#maybe(0.7, "requests", amounts) };
  }

  #metadata(annotations: JsonObject): JsonObject {
    return {
      ...this.#maybe(0.8, "name", () => "train"),
      ...this.#maybe(0.3, "labels", () => ({ [this.#chance(0.2) ? LABEL.injected : "team"]: this.#text() })),
      ...(Object.keys(annotations).length === 0 ? this.#maybe(0.2, "annotations", () => ({})) : { annotations }),
      ...this.#future(),
    };
  }

  #annotations(): JsonObject {
    const written: readonly [string, readonly string[]][] = [
      [ANNOTATION.inject, ["true", "false", "maybe"]],
      [ANNOTATION.failurePolicy, ["cuda-default", "nobody", ""]],
      [ANNOTATION.failExitCodes, ["40-50,137", "1", "0", "x", "1-254"]],
      [ANNOTATION.recreateExitCodes, ["7", "9-12", "40", ""]],
      [ANNOTATION.replicatedJobs, ["workers", "driver,workers", "nobody"]],
      [ANNOTATION.workerContainers, ["train,log,workers,driver,fetch,mesh", "train", "nobody"]],
      [ANNOTATION.nodeLossGrace, ["30s", "0s", "soon"]],
      [ANNOTATION.agentCpu, ["50m", "lots"]],
      [ANNOTATION.agentMemory, ["32Mi", "1"]],
      [ANNOTATION.keepSharedMemory, ["true", "false", "some"]],
      [ANNOTATION.restartRequest, ["loss is NaN", "two\nlines"]],
      [ANNOTATION.safeToForcefullyDelete, ["true", "perhaps"]],
      [
        ANNOTATION.status,
        [
          "{}",
          "null",
          '{"inputs":{"reprise.dev/fail-exit-codes":"40"}}',
          '{"inputs":{"reprise.dev/failure-policy":"cuda-default"},"exitCodes":{"fail":"1-9","recreate":"x"}}',
        ],
      ],
    ];
    const annotations: JsonObject = {};
    for (const [key, values] of written) {
      // The first value is the usual one.
      if (this.#chance(0.12)) annotations[key] = this.#chance(0.9) ? (values[0] ?? "") : this.#pick(values);
      else if (this.#chance(this.#junkiness)) annotations[key] = this.#junk(2);
    }
    return annotations;
  }

  /** Fields that no release of reprise knows. */
  #future(): JsonObject {
    return this.#chance(0.1)
      ? own(this.#pick(KEYS.slice(0, 3)), this.#junk(3), { fieldOfTheFuture: this.#junk(2) })
      : {};
  }

  #junk(depth: number): Json {
    const kind = this.#int(depth > 0 ? 8 : 5);
    if (kind === 0) return null;
    if (kind === 1) return this.#chance(0.5);
    if (kind === 2) return this.#int(5) - 1;
    if (kind === 3 || kind === 4) return this.#text();
    if (kind === 5) return this.#list(3, () => this.#junk(depth - 1));
    return this.#list(3, () => 0).reduce<JsonObject>((all) => own(this.#pick(KEYS), this.#junk(depth - 1), all), {});
  }

  #or(value: () => Json): Json {
    return this.#chance(this.#junkiness) ? this.#junk(3) : value();
  }

  #maybe(probability: number, key: string, value: () => Json): JsonObject {
    return this.#chance(probability) ? { [key]: this.#or(value) } : {};
  }

  #list(most: number, item: () => Json): Json[] {
    return Array.from({ length: this.#int(most + 1) }, item);
  }

  #text(): string {
    return this.#pick(TEXTS);
  }

  #pick<T>(choices: readonly T[]): T {
    const choice = choices[this.#int(choices.length)];
    if (choice === undefined) throw new Error("nothing to pick from");
    return choice;
  }

  #int(below: number): number {
    return Math.floor(this.#random() * below);
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }
}

/** Defined, not assigned: like JSON.parse, this makes "__proto__" an ordinary field. */
function own(key: string, value: Json, object: JsonObject): JsonObject {
  return Object.defineProperty({ ...object }, key, { value, enumerable: true, configurable: true, writable: true });
}
