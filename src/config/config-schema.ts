// The settings of the config file: schema, defaults and the reason for each default.
// docs/configuration.md is generated from it, so users read these descriptions.
import { z } from "zod";
import { DURATION_FORM, formatDuration, parseDuration } from "../api/duration.ts";
import { MAX_INT32 } from "../api/names.ts";
import { DEFAULT_RESTART_POLICY as PATIENCE } from "../api/restart-policy.ts";
import { VERSION } from "../api/version.ts";
import { quantityValue } from "../json/quantity.ts";
import { readDefinition } from "../policy/definition.ts";
import type { ExitCodePolicy } from "../policy/exit-codes.ts";
import { LOG_LEVELS } from "./log-level.ts";

export interface SettingText {
  /** Completes "expected ...". */
  readonly expected: string;
  /** What the setting does, and the reason for its default. */
  readonly description: string;
  /** The default in YAML. If the setting has none, any value. */
  readonly example: string;
  /** What applies if the setting has no default. */
  readonly unset?: string;
}

/** The texts of each setting, by its schema. */
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
  // YAML reads `cpu: 1` as a number. Kubernetes accepts both.
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

/** From 1% to 100%. Read as a fraction of one. */
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

function agentResources() {
  const amounts = z.strictObject({
    cpu: quantity(
      "10m",
      "CPU request of the agent. It works for some tens of milliseconds when its Pod restarts, while the workers " +
        "are down, and then waits. A larger request could prevent scheduling of a Pod that fills its node.",
    ),
    guaranteedCpu: quantity(
      "100m",
      "CPU request and limit of the agent in a Guaranteed Pod, which needs both. The start of the agent is part " +
        "of every recovery. Until its epoch is published it takes 16 ms without a limit, 14 ms with 200m and " +
        "11 ms with 100m (bench/agent-start.ts).",
    ),
    memory: quantity(
      "64Mi",
      "Memory request and limit of the agent. It uses 22 to 25 MiB. Where its startup probe is a process, that " +
        "one mostly shares these pages. The rest is for one small object and TLS buffers.",
    ),
  });
  const schema = z.union([z.literal("none"), amounts]).prefault({});
  return schema.register(settingTexts, {
    expected: "none, or a map with cpu, guaranteedCpu and memory",
    description:
      "Resources of the agent. With `none` it gets none, so that a queue needs no quota for it; a Guaranteed Pod is " +
      "then Burstable. Otherwise it gets CPU or memory only if another container of its Pod requests that too, so a " +
      "BestEffort Pod stays one. Annotations of a JobSet override both.",
    example: "{cpu: 10m, guaranteedCpu: 100m, memory: 64Mi}",
  });
}

const injection = z
  .strictObject({
    default: choice(
      ["enabled", "disabled"],
      "enabled",
      "Whether JobSets without the annotation `reprise.dev/inject` are injected in a labeled namespace. The label " +
        "of the namespace is already an opt-in.",
    ),
    onUnsupported: choice(
      ["leave", "refuse"],
      "leave",
      "What happens to a JobSet with a replicatedJob that cannot restart in place ([docs/validation.md]" +
        "(validation.md#left-out)). `leave`: that replicatedJob stays plain, the others are injected, and the user " +
        "gets a warning. `refuse`: the JobSet is refused. The default refuses nothing that JobSet accepts.",
    ),
    agentImage: text(
      `reprise:${VERSION}`,
      "an image reference",
      "Image of the agent sidecar. The default is the image of this release without a registry. The manifests set " +
        "the one that you publish.",
    ),
    agentPullPolicy: choice(
      ["IfNotPresent", "Always", "Never"],
      "IfNotPresent",
      "Pull policy of the agent image. With `Always` the kubelet contacts the registry on every restart in place, " +
        "which delays recovery.",
    ),
    imagePullSecrets: z
      .array(z.string().min(1))
      .default([])
      .register(settingTexts, {
        expected: "a list of Secret names",
        description:
          "Image pull secrets that are added to the Pods. Needed only if the image of the agent is in a private " +
          "registry.",
        example: "[]",
      }),
    defaultMaxRestarts: z
      .int()
      .min(0)
      .max(MAX_INT32)
      .optional()
      .register(settingTexts, {
        expected: `a whole number from 0 to ${MAX_INT32}`,
        description:
          "Restart budget of JobSets that do not set `reprise.dev/max-restarts`, if their Namespace does not set it " +
          "either. By default the budget is derived from each JobSet, so that it survives at least as many failures " +
          "as without reprise ([docs/failure-policy.md](failure-policy.md#the-budget)).",
        example: "10",
        unset: "derived",
      }),
    agentResources: agentResources(),
    agentPort: z
      .union([z.literal("none"), z.int().min(1).max(65_535)])
      .default(24_670)
      .register(settingTexts, {
        expected: "none, or a whole number from 1 to 65535",
        description:
          "Port of the agent, where the kubelet's startup probe asks whether the barrier has lifted. The default is " +
          "assigned to no program. With `none`, with hostNetwork, and in a Pod that declares the same port, the " +
          "probe is a process of the agent instead, which takes about 20 MiB while a Pod waits.",
        example: "24670",
      }),
    restartExitCode: z
      .int()
      .min(1)
      .max(125)
      .default(88)
      .register(settingTexts, {
        expected: "a whole number from 1 to 125 (0 is success, 126 and above belong to shells, runtimes and signals)",
        description:
          "Exit code with which an agent requests the restart of its Pod. The default has no meaning in shells, " +
          "runtimes and training frameworks, so it is easy to recognize in the status of a Pod.",
        example: "88",
      }),
  })
  .prefault({});

/** docs/failure-policy.md explains each code. */
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
      "Failure policies that JobSets of any namespace may name in `reprise.dev/failure-policy`. Namespaces may " +
      "define their own ([docs/failure-policy.md](failure-policy.md#named-policies)). This setting replaces the " +
      "default, which has one policy for GPU jobs.",
    example:
      `{cuda-default: {failExitCodes: "${CUDA_DEFAULT.failExitCodes}", recreateExitCodes: ` +
      `"${CUDA_DEFAULT.recreateExitCodes}"}}`,
  });

const webhook = z
  .strictObject({
    port: port(9_443, "Port of the HTTPS server. Ports above 1023 need no privilege."),
    healthPort: port(
      8_081,
      "Port of `/healthz`, `/readyz` and `/metrics`. Plain HTTP, so that probes need no certificate.",
    ),
    certDir: text(
      "/etc/reprise/tls",
      "a directory",
      "Directory with `tls.crt` and `tls.key`, as in a mounted TLS Secret. A renewed certificate is loaded without a " +
        "restart.",
    ),
    namespacedPolicies: choice(
      ["enabled", "disabled"],
      "enabled",
      "Whether namespaces may define failure policies in a ConfigMap `reprise-failure-policies`, and a restart " +
        "budget in the annotation `reprise.dev/max-restarts` of the Namespace. The webhook then watches both. With " +
        "`disabled` it reads neither and needs no permission for them.",
    ),
  })
  .prefault({});

const controller = z
  .strictObject({
    healthPort: port(
      8_082,
      "Port of `/healthz`, `/readyz` and `/metrics`. Differs from the port of the webhook, so that both can run on " +
        "one host.",
    ),
    leaderElection: z
      .strictObject({
        namespace: text(
          "reprise-system",
          "a namespace",
          "Namespace of the Lease. By default the namespace of the manifests.",
        ),
        name: text(
          "reprise-controller",
          "a Lease name",
          "Name of the Lease. Change it only to run two separate installations.",
        ),
      })
      .prefault({}),
    escalateAfter: count(
      PATIENCE.escalateAfter,
      "Number of consecutive failures of the same Pod, without progress, after which the Pod is replaced instead of " +
        "restarted in place. After as many more the JobSet is recreated. 0 means never. `reprise.dev/escalate-after` " +
        "overrides it. One or two failures may be chance; a Pod that fails a third time needs another node.",
    ),
    progressAfter: duration(
      formatDuration(PATIENCE.progressAfter),
      "A run of this length counts as progress and resets escalation and back-off. The kubelet resets its crash " +
        "back-off after the same time.",
    ),
    backoff: z
      .strictObject({
        after: count(
          PATIENCE.backoff.after,
          "Number of consecutive restarts of a group, without progress, that are not delayed. Restarts in place " +
            "exist for recovery in seconds.",
        ),
        first: duration(
          formatDuration(PATIENCE.backoff.first),
          "Minimum time between the failure and the start of the group at the next restart. Doubles with each " +
            "further restart. The default is that of the kubelet for containers in CrashLoopBackOff.",
        ),
        max: duration(formatDuration(PATIENCE.backoff.max), "Maximum back-off. The default is that of the kubelet."),
      })
      .prefault({}),
  })
  .prefault({});

const stuckPods = z
  .strictObject({
    enabled: flag(
      true,
      "Whether Pods that are stuck on lost nodes are forcefully deleted. On by default, because each Pod must also " +
        "opt in with an annotation.",
    ),
    threshold: duration(
      "60s",
      "How long after its grace period a Pod on an unreachable node counts as stuck. The default is that of " +
        "KEP-6757: long enough for a restart of the kubelet.",
    ),
    brake: percentage(
      "55%",
      "Share of unreachable nodes at which no Pod is forcefully deleted: then the control plane is probably cut off, " +
        "and the Pods still run. The node lifecycle controller uses the same share. One or two lost nodes never " +
        "trigger the brake unless the cluster has no others.",
    ),
  })
  .prefault({});

export const configSchema = z.strictObject({
  logLevel: choice(LOG_LEVELS, "info", "Lowest level that is logged. The option `--log-level` overrides it."),
  injection,
  failurePolicies,
  webhook,
  controller,
  stuckPods,
});
