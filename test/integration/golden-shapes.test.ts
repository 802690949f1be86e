// The real validation of JobSet and Job accepts every golden shape, keeps all its fields, and Pods are created. The
// namespace enforces Pod Security level `restricted` wherever the plain JobSet would be allowed there.
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import type { JsonObject } from "../../src/json/types.ts";
import type { Kubectl } from "../cluster/kubectl.ts";
import { waitFor } from "../cluster/proc.ts";
import { createNamespace } from "../reprise-programs.ts";
import { type AdmissionChain, startAdmissionChain } from "./admission-chain.ts";

/** Shapes that `restricted` forbids even without injection. */
const NEVER_RESTRICTED = new Set(["host-network", "root-user"]);

const shapes = globSync("test/golden/inject/*.in.yaml").map((file) => ({
  shape: basename(file, ".in.yaml"),
  jobSet: parse(readFileSync(file, "utf8")) as JobSet,
}));

let chain: AdmissionChain;
let kubectl: Kubectl;

beforeAll(async () => {
  chain = await startAdmissionChain({ upstreamInPlace: true });
  kubectl = chain.controlPlane.kubectl;
});

afterAll(async () => {
  await chain.controlPlane.stop();
});

test("the golden folder is not empty", () => {
  expect(shapes.length).toBeGreaterThan(10);
});

test.each(shapes)(
  "$shape: its Jobs keep every injected field, and its Pods are admitted",
  async ({ shape, jobSet }) => {
    const restricted = !NEVER_RESTRICTED.has(shape);
    const namespace = `shape-${shape}`;
    await createNamespace(kubectl, namespace, {
      "pod-security.kubernetes.io/enforce": restricted ? "restricted" : "privileged",
    });
    delete jobSet.metadata.namespace;
    if (restricted) for (const job of jobSet.spec.replicatedJobs) harden(podSpecOf(job));
    // `create`, because of generateName. Unknown fields are no error, because a newer client may send them.
    const create = ["create", "-n", namespace, "--validate=ignore", "-o", "name", "-f", "-"];
    const name = (await kubectl(create, { input: JSON.stringify(jobSet) })).trim();
    const stored = (await read([name, "-n", namespace])) as unknown as JobSet;

    // In a startup order only the first stage has Jobs at once.
    const jobs = await waitFor("the Jobs exist", 30_000, async () => {
      const { items } = (await read(["jobs", "-n", namespace])) as unknown as List<Job>;
      return items.length > 0 && items;
    });
    for (const job of jobs) {
      const replicatedJob = job.metadata.labels["jobset.sigs.k8s.io/replicatedjob-name"];
      const template = stored.spec.replicatedJobs.find((each) => each.name === replicatedJob)?.template;
      expect(job.spec).toMatchObject(template?.spec ?? {});
    }
    const pods = await waitFor("the Pods exist", 30_000, async () => {
      const { items } = (await read(["pods", "-n", namespace])) as unknown as List<Pod>;
      return items.length > 0 && items;
    });
    for (const pod of pods) {
      const isInjected = pod.metadata.labels["reprise.dev/injected"] === "true";
      expect(pod.spec.initContainers?.[0]?.name === "reprise-agent").toBe(isInjected);
    }
    expect(pods.some((pod) => pod.metadata.labels["reprise.dev/injected"] === "true")).toBe(true);
    if (shape === "guaranteed-qos") expect(pods.map((pod) => pod.status.qosClass)).toContain("Guaranteed");
  },
);

async function read(what: readonly string[]): Promise<JsonObject> {
  return JSON.parse(await kubectl(["get", ...what, "-o", "json"])) as JsonObject;
}

/** The security context that a restricted namespace requires. */
function harden(spec: PodSpec): void {
  spec.securityContext = { ...spec.securityContext, runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    container.securityContext = {
      ...container.securityContext,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
    };
  }
}

const podSpecOf = (job: ReplicatedJob): PodSpec => job.template.spec.template.spec;

interface List<T> {
  readonly items: readonly T[];
}

interface JobSet {
  readonly metadata: { namespace?: string };
  readonly spec: { readonly replicatedJobs: readonly ReplicatedJob[] };
}

interface ReplicatedJob {
  readonly name: string;
  readonly template: { readonly spec: { readonly template: { readonly spec: PodSpec } } };
}

interface PodSpec {
  securityContext?: object;
  readonly initContainers?: readonly Container[];
  readonly containers?: readonly Container[];
}

interface Container {
  readonly name: string;
  securityContext?: object;
}

interface Job {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: object;
}

interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: PodSpec;
  readonly status: { readonly qosClass: string };
}
