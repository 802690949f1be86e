// The settings an operator may write in the config file: shape, defaults and the reason for each default.
// docs/configuration.md is generated from this table, so a description here is read by users.
import { z } from "zod";
import { DURATION_FORM, formatDuration, parseDuration } from "../api/duration.ts";
import { DEFAULT_RESTART_POLICY as PATIENCE } from "../api/restart-policy.ts";
import { VERSION } from "../api/version.ts";
import { quantityValue } from "../json/quantity.ts";
import { readDefinition } from "../policy/definition.ts";
import type { ExitCodePolicy } from "../policy/exit-codes.ts";
import { LOG_LEVELS } from "./log-level.ts";

export interface SettingText {
  /** Completes the sentence "expected ...". */
  readonly expected: string;
  /** What the setting does, and why its default is what it is. */
  readonly description: string;
  /** The default as it is written in the file. */
  readonly example: string;
}

/** The words that belong to each setting, found by its schema. */
export const settingTexts = z.registry<SettingText>();

function port(byDefault: number, description: string) {
  const expected = "a whole number from 1 to 65535";
  const schema = z.int().min(1).max(65_535).default(byDefault);
  return schema.register(settingTexts, { expected, description, example: String(byDefault) });
}

function text(byDefault: string, expected: string, description: string) {
  return z.string().min(1).default(byDefault).register(settingTexts, { expected, description, example: byDefault });
}

function choice<const T extends readonly [string, ...string[]]>(values: T, byDefault: T[number], description: string) {
  const expected = `one of ${values.join(", ")}`;
  const schema = z.enum(values).default(byDefault);
  return schema.register(settingTexts, { expected, description, example: byDefault });
}

function quantity(byDefault: string, description: string) {
  // YAML reads `cpu: 1` as a number; Kubernetes accepts both spellings, so both are taken.
  const schema = z
    .union([z.string(), z.number()])
    .refine((value) => (quantityValue(value) ?? -1n) >= 0n)
    .transform(String)
    .default(byDefault);
  const expected = 'a Kubernetes quantity such as "100m" or "64Mi"';
  return schema.register(settingTexts, { expected, description, example: byDefault });
}

function duration(byDefault: string, description: string) {
  const schema = z
    .string()
    .transform((value, context) => {
      const span = parseDuration(value);
      if (span !== undefined) return span;
      context.issues.push({ code: "custom", input: value });
      return z.NEVER;
    })
    .prefault(byDefault);
  return schema.register(settingTexts, { expected: DURATION_FORM, description, example: byDefault });
}

function flag(byDefault: boolean, description: string) {
  const schema = z.boolean().default(byDefault);
  return schema.register(settingTexts, { expected: "true or false", description, example: String(byDefault) });
}

/** From 1 to 100, written with its sign; read as a share of one. */
function percentage(byDefault: string, description: string) {
  const schema = z
    .string()
    .regex(/^([1-9]\d?|100)%$/)
    .transform((text) => Number.parseInt(text, 10) / 100)
    .prefault(byDefault);
  return schema.register(settingTexts, { expected: "a percentage from 1% to 100%", description, example: byDefault });
}

function count(byDefault: number, description: string) {
  const expected = "a whole number of at least 0";
  const schema = z.int().min(0).default(byDefault);
  return schema.register(settingTexts, { expected, description, example: String(byDefault) });
}

const injection = z
  .strictObject({
    default: choice(
      ["enabled", "disabled"],
      "enabled",
      "What happens to a JobSet without the annotation `reprise.dev/inject` in a labelled namespace. Labelling the namespace is already the opt-in.",
    ),
    agentImage: text(
      `reprise:${VERSION}`,
      "an image reference",
      "Image of the agent sidecar. The default is the image of this release, without a registry: the install sets the one you mirror.",
    ),
    agentPullPolicy: choice(
      ["IfNotPresent", "Always", "Never"],
      "IfNotPresent",
      "Pull policy of the agent. `Always` asks the registry again on every restart in place, which is on the recovery path.",
    ),
    imagePullSecrets: z.array(z.string().min(1)).default([]).register(settingTexts, {
      expected: "a list of Secret names",
      description: "Secrets added to the Pods' own, needed only when the agent's image is in a private registry.",
      example: "[]",
    }),
    agentResources: z
      .strictObject({
        cpu: quantity(
          "10m",
          "CPU request of the agent. It works for some tens of milliseconds when its Pod restarts, while the Pod's own workers are down, and then waits; a larger request could keep a Pod that fills its node from being scheduled.",
        ),
        guaranteedCpu: quantity(
          "100m",
          "CPU request and limit of the agent in a Guaranteed Pod, which needs both. Its start is part of every recovery: until its epoch is written 16 ms without a limit, 14 ms with 200m and 11 ms with 100m, until its gate has ended, too, 19, 36 and 90 ms (bench/agent-start.ts).",
        ),
        memory: quantity(
          "64Mi",
          "Memory request and limit of the agent. It holds 22 to 25 MiB, and its gate, for as long as the barrier is down, mostly the same pages; the rest is room for the copy of one small object and TLS buffers.",
        ),
      })
      .prefault({}),
    restartExitCode: z.int().min(1).max(125).default(88).register(settingTexts, {
      expected: "a whole number from 1 to 125 (0 is success, 126 and above belong to shells, runtimes and signals)",
      description:
        "Exit code with which an agent asks for the restart of its Pod. The default means nothing to shells, runtimes and training frameworks, so it is recognised in a Pod's status.",
      example: "88",
    }),
  })
  .prefault({});

/** docs/failure-policy.md gives the reason for each code. */
const CUDA_DEFAULT = { failExitCodes: "78", recreateExitCodes: "80,214" };

const failurePolicies = z
  .record(z.string().min(1), z.unknown())
  .transform((written, context) => {
    const policies = new Map<string, ExitCodePolicy>();
    for (const [name, value] of Object.entries(written)) {
      const read = readDefinition(value);
      if (read.ok) policies.set(name, read.policy);
      else {
        for (const { field, problem, fix } of read.problems) {
          const path = field === undefined ? [name] : [name, field];
          context.issues.push({ code: "custom", input: value, path, params: { problem, fix } });
        }
      }
    }
    return policies;
  })
  .prefault({ "cuda-default": CUDA_DEFAULT })
  .register(settingTexts, {
    expected: "a map from names to failExitCodes and recreateExitCodes",
    description:
      "Failure policies that a JobSet of any namespace may name in `reprise.dev/failure-policy`; a namespace may define its own ([docs/failure-policy.md](failure-policy.md#named-policies)). What is written here replaces the default, which has one policy for GPU jobs.",
    example: `{cuda-default: {failExitCodes: "${CUDA_DEFAULT.failExitCodes}", recreateExitCodes: "${CUDA_DEFAULT.recreateExitCodes}"}}`,
  });

const webhook = z
  .strictObject({
    port: port(9_443, "Port of the HTTPS server. Above 1023, so that it needs no privilege."),
    healthPort: port(
      8_081,
      "Port of `/healthz`, `/readyz` and `/metrics`, in clear text so that probes need no certificate.",
    ),
    certDir: text(
      "/etc/reprise/tls",
      "a directory",
      "Directory with `tls.crt` and `tls.key`, as a mounted TLS Secret lays them out. A renewed pair is picked up without a restart.",
    ),
    namespacedPolicies: choice(
      ["enabled", "disabled"],
      "enabled",
      "Whether namespaces may define failure policies in a ConfigMap `reprise-failure-policies`, which the webhook then watches. With `disabled` it reads no ConfigMap and needs no right to.",
    ),
  })
  .prefault({});

const controller = z
  .strictObject({
    healthPort: port(
      8_082,
      "Port of `/healthz`, `/readyz` and `/metrics`. Not the webhook's, so that both can run on one host.",
    ),
    leaderElection: z
      .strictObject({
        namespace: text("reprise-system", "a namespace", "Namespace of the Lease; the one reprise is installed in."),
        name: text(
          "reprise-controller",
          "a Lease name",
          "Name of the Lease. Change it only to run two separate installs.",
        ),
      })
      .prefault({}),
    escalateAfter: count(
      PATIENCE.escalateAfter,
      "How many failures of the same Pod in a row, without progress between them, are answered by a restart in place before its Pod is replaced, and after as many more the JobSet recreated; 0 means never. `reprise.dev/escalate-after` wins over it. Once is chance, twice may be; a Pod that fails a third time needs another place.",
    ),
    progressAfter: duration(
      formatDuration(PATIENCE.progressAfter),
      "A run of this length is progress: the failures before it are forgotten, by escalation and by back-off. The kubelet forgets crashes after as long.",
    ),
    backoff: z
      .strictObject({
        after: count(
          PATIENCE.backoff.after,
          "How many restarts of a group in a row, without progress between them, are not delayed at all. Recovery in seconds is what restarts in place are for.",
        ),
        first: duration(
          formatDuration(PATIENCE.backoff.first),
          "How long after the failure the barrier is held at the next restart, at least; doubled with each one after it. The kubelet's own for containers that crash in a loop.",
        ),
        max: duration(formatDuration(PATIENCE.backoff.max), "The longest that a barrier is held. The kubelet's own."),
      })
      .prefault({}),
  })
  .prefault({});

const stuckPods = z
  .strictObject({
    enabled: flag(
      true,
      "Whether Pods that are stuck on lost nodes are freed. On, because a Pod has to consent to it by an annotation anyway.",
    ),
    threshold: duration(
      "60s",
      "How long after its grace period a Pod on an unreachable node counts as stuck. KEP-6757 uses one minute: long enough for a kubelet that restarts.",
    ),
    brake: percentage(
      "55%",
      "Share of unreachable nodes from which on nothing is freed: then the control plane is cut off, and the Pods run on. The node lifecycle controller uses the same share; like it, one or two lost nodes never hold the brake unless they are all there are.",
    ),
  })
  .prefault({});

export const configSchema = z.strictObject({
  logLevel: choice(LOG_LEVELS, "info", "Least severe level that is logged. The option `--log-level` wins over it."),
  injection,
  failurePolicies,
  webhook,
  controller,
  stuckPods,
});
