// Three ways to recover the same workload, each as its users would write it: reprise with only a label on the
// namespace, upstream's alpha with the setup that KEP-467 asks for, and JobSet's default.
import { UPSTREAM_AGENT, WORKER } from "../../scripts/recovery/observe.ts";
import { JOBSET, LABEL } from "../../src/api/names.ts";

export const CONTENDERS = ["reprise", "upstream", "recreate"] as const;
export type Contender = (typeof CONTENDERS)[number];

export const TITLES: Readonly<Record<Contender, string>> = {
  reprise: "reprise",
  upstream: "JobSet InPlaceRestart (alpha)",
  recreate: "JobSet Recreate (default)",
};

export const UPSTREAM_AGENT_IMAGE = "docker.io/local/in-place-restart-agent:1";

/** Far above the number of repetitions, so that no group runs out of restarts. */
const MAX_RESTARTS = 1_000;

/** What upstream's webhook requires of a JobSet that restarts in place. */
const MAX_INT32 = 2_147_483_647;

export const ON_FAILURE = [{ action: "RestartAllContainers", exitCodes: { operator: "NotIn", values: [0] } }];

/**
 * What a worker does on SIGTERM. `stops`: exits at once, so that Recreate does not wait for a grace period. `ignores`:
 * keeps running until it is killed, as the first process of a container does that installs no handler, such as plain
 * Python. Both use no CPU while they run.
 */
const WORKERS = {
  stops: ["sh", "-c", "trap 'exit 143' TERM; sleep 1000000 & wait"],
  ignores: ["sleep", "1000000"],
} as const;
export type Workers = keyof typeof WORKERS;

const EVENLY = {
  maxSkew: 1,
  topologyKey: "kubernetes.io/hostname",
  whenUnsatisfiable: "DoNotSchedule",
  labelSelector: { matchLabels: { [JOBSET.nameKey]: "train" } },
};

export function namespaceOf(contender: Contender): object {
  const labels = contender === "reprise" ? { [LABEL.injection]: "enabled" } : {};
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: contender, labels } };
}

interface Placement {
  readonly name?: string;
  /** Without a scheduler. */
  readonly nodeName?: string;
  /** Evenly over all nodes. */
  readonly spread?: boolean;
}

export function jobSetOf(
  contender: Contender,
  pods: number,
  workers: Workers,
  { name = "train", spread = false, ...node }: Placement = {},
): object {
  const inPlace = contender === "upstream";
  const worker = { name: WORKER, image: "local/busybox:1", command: WORKERS[workers] };
  const template = {
    spec: {
      ...node,
      restartPolicy: "Never",
      ...(spread ? { topologySpreadConstraints: [EVENLY] } : {}),
      ...(inPlace ? { initContainers: [upstreamAgent()] } : {}),
      containers: [inPlace ? { ...worker, restartPolicy: "Never", restartPolicyRules: ON_FAILURE } : worker],
    },
  };
  const job = inPlace ? { backoffLimit: MAX_INT32, podReplacementPolicy: "Failed" } : { backoffLimit: 0 };
  const strategy = inPlace ? { restartStrategy: "InPlaceRestart" } : {};
  return {
    apiVersion: `${JOBSET.group}/${JOBSET.version}`,
    kind: JOBSET.kind,
    metadata: { name, namespace: contender },
    spec: {
      failurePolicy: { maxRestarts: MAX_RESTARTS, ...strategy },
      replicatedJobs: [
        { name: "workers", template: { spec: { parallelism: pods, completions: pods, ...job, template } } },
      ],
    },
  };
}

export function upstreamAgent(): object {
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  return {
    name: UPSTREAM_AGENT,
    image: UPSTREAM_AGENT_IMAGE,
    imagePullPolicy: "Never",
    restartPolicy: "Always",
    restartPolicyRules: ON_FAILURE,
    startupProbe: { httpGet: { path: "/barrier-is-down", port: 8081 }, failureThreshold: 600, periodSeconds: 1 },
    env: [field("JOBSET_NAME", `metadata.annotations['${JOBSET.nameKey}']`), field("POD_NAME", "metadata.name")],
  };
}

/** The rights that upstream's agent needs for the service account it shares with the worker. */
export function upstreamRights(): readonly object[] {
  const metadata = { name: "in-place-restart", namespace: "upstream" };
  return [
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata,
      rules: [
        { apiGroups: [""], resources: ["pods"], verbs: ["patch"] },
        { apiGroups: [JOBSET.group], resources: [JOBSET.plural], verbs: ["get", "list", "watch"] },
      ],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: metadata.name },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace: "upstream" }],
    },
  ];
}
