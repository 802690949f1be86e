// Failure policies and restart budgets of namespaces on a real API server: the webhook reads them with its narrow
// permissions, even if they are only a moment old, and a live JobSet keeps those from its creation.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import type { JsonObject } from "../../src/json/types.ts";
import { connect } from "../../src/kube/client.ts";
import { jobSet } from "../builders/jobset.ts";
import type { Kubectl } from "../cluster/kubectl.ts";
import { waitFor } from "../cluster/proc.ts";
import { accountKubeconfig, createNamespace, registerWebhook, runWebhook } from "../reprise-programs.ts";
import { type AdmissionChain, startAdmissionChain } from "./admission-chain.ts";

const CONFIG_MAP = "reprise-failure-policies";

let chain: AdmissionChain;
let kubectl: Kubectl;

beforeAll(async () => {
  chain = await startAdmissionChain();
  kubectl = chain.controlPlane.kubectl;
});

afterAll(async () => {
  await chain.controlPlane.stop();
});

function policies(namespace: string, data: Readonly<Record<string, string>>): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: CONFIG_MAP, namespace }, data };
}

function train(namespace: string, policy: string, name = "train"): JsonObject {
  return jobSet(name)
    .metadata({ namespace })
    .annotation("reprise.dev/failure-policy", policy)
    .spec({ failurePolicy: { maxRestarts: 3 }, suspend: true })
    .replicatedJob("workers", { pods: 2 })
    .build();
}

/** Applies all in one call, in this order, as from one file. */
function apply(...objects: readonly JsonObject[]): Promise<string> {
  return kubectl(["apply", "-f", "-"], { input: objects.map((object) => stringify(object)).join("---\n") });
}

interface Stored {
  readonly metadata: { readonly generation: number };
  readonly spec: {
    readonly replicatedJobs: readonly [
      { readonly template: { readonly spec: { readonly template: { readonly spec: PodSpec } } } },
    ];
  };
}

interface PodSpec {
  readonly containers: readonly [
    { readonly restartPolicyRules?: readonly { readonly exitCodes: { readonly values: readonly number[] } }[] },
  ];
}

async function stored(namespace: string, name = "train"): Promise<Stored> {
  return JSON.parse(await kubectl(["get", "jobset", name, "-n", namespace, "-o", "json"])) as Stored;
}

/** The codes other than 0 that do not restart in place. */
async function classes(namespace: string, name = "train"): Promise<readonly number[] | undefined> {
  const [job] = (await stored(namespace, name)).spec.replicatedJobs;
  const [worker] = job.template.spec.template.spec.containers;
  return worker.restartPolicyRules?.[0]?.exitCodes.values.slice(1);
}

test("a policy and the JobSet that names it can be applied together", async () => {
  for (const round of [1, 2, 3, 4, 5]) {
    const namespace = `together-${round}`;
    await createNamespace(kubectl, namespace);
    await apply(policies(namespace, { mine: `failExitCodes: ${40 + round}` }), train(namespace, "mine"));
    expect(await classes(namespace)).toEqual([40 + round]);
  }
});

test("every installation has cuda-default, and a namespace can define its own", async () => {
  await createNamespace(kubectl, "cuda");
  await apply(train("cuda", "cuda-default"));
  expect(await classes("cuda")).toEqual([78, 80, 214]);
  await apply(policies("cuda", { "cuda-default": "recreateExitCodes: 7" }));
  await waitFor("the webhook sees the new policy", 10_000, async () => {
    await kubectl(["delete", "jobset", "own", "-n", "cuda", "--ignore-not-found"]);
    await apply(train("cuda", "cuda-default", "own"));
    return (await classes("cuda", "own"))?.join() === "7";
  });
});

test("a policy of one namespace is unknown in another", async () => {
  await Promise.all(["mine", "theirs"].map((name) => createNamespace(kubectl, name)));
  await apply(policies("mine", { private: "failExitCodes: 7" }), train("mine", "private"));
  await expect(apply(train("theirs", "private"))).rejects.toThrow('"private" is not defined in ConfigMap');
});

describe("the restart budget of a Namespace", () => {
  const annotated = (name: string, maxRestarts: string): JsonObject => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name,
      labels: { "reprise.dev/injection": "enabled" },
      annotations: { "reprise.dev/max-restarts": maxRestarts },
    },
  });
  const plain = (namespace: string, name = "train") =>
    jobSet(name).metadata({ namespace }).suspended().replicatedJob("workers", { pods: 2 }).build();
  const budget = async (namespace: string, name = "train") => {
    const path = "jsonpath={.metadata.annotations.reprise\\.dev/status}";
    return JSON.parse(await kubectl(["get", "jobset", name, "-n", namespace, "-o", path])).budget;
  };

  test("applies to a JobSet that is applied together with it", async () => {
    for (const round of [1, 2, 3]) {
      const namespace = `budget-${round}`;
      await apply(annotated(namespace, `${40 + round}`), plain(namespace));
      expect(await budget(namespace)).toEqual({ max: 40 + round, from: "namespace" });
    }
  });

  test("is kept by a live JobSet when it changes, and applies to new ones", async () => {
    const namespace = "budget-changed";
    await apply(annotated(namespace, "5"), plain(namespace));
    await apply(annotated(namespace, "7"));
    await waitFor("the webhook sees the new annotation", 10_000, async () => {
      await kubectl(["delete", "jobset", "later", "-n", namespace, "--ignore-not-found"]);
      await apply(plain(namespace, "later"));
      return (await budget(namespace, "later")).max === 7;
    });
    await apply(plain(namespace));
    expect(await budget(namespace)).toEqual({ max: 5, from: "namespace" });
  });

  test("is ignored with a warning if it is invalid, and no JobSet is denied for it", async () => {
    const namespace = "budget-invalid";
    await apply(annotated(namespace, "ten"));
    const input = stringify(plain(namespace));
    const said = await kubectl(["apply", "-f", "-"], { input, withWarnings: true });
    expect(said).toContain(`Warning: reprise: "ten" in reprise.dev/max-restarts of Namespace ${namespace} is not`);
    expect(await budget(namespace)).toEqual({ max: 6, from: "backoffLimit" });
  });
});

describe("a live JobSet", () => {
  const namespace = "live";

  beforeAll(async () => {
    await createNamespace(kubectl, namespace);
    await apply(policies(namespace, { mine: 'failExitCodes: "40-41"' }), train(namespace, "mine"));
  });

  test.each([
    ["changed", () => apply(policies(namespace, { mine: "recreateExitCodes: 9" }))],
    ["gone", () => kubectl(["delete", "configmap", CONFIG_MAP, "-n", namespace])],
  ])("keeps its codes when its policy has %s, and the same file applied again changes nothing", async (_, change) => {
    const before = await stored(namespace);
    await change();
    await apply(train(namespace, "mine"));
    const after = await stored(namespace);
    expect(after.metadata.generation).toBe(before.metadata.generation);
    expect(after.spec).toEqual(before.spec);
    expect(await classes(namespace)).toEqual([40, 41]);
  });

  test("warns that another policy takes effect only when it is recreated", async () => {
    const input = stringify(train(namespace, "cuda-default"));
    const said = await kubectl(["apply", "-f", "-"], { input, withWarnings: true });
    const path = "metadata.annotations[reprise.dev/failure-policy]";
    expect(said).toContain(`Warning: reprise: ${path}: a running JobSet keeps the settings it was injected with`);
    expect(await classes(namespace)).toEqual([40, 41]);
  });
});

describe("the webhook's permissions", () => {
  const all = "/api/v1/configmaps";
  const byName = (name: string) => ({ fieldSelector: `metadata.name=${name}` });

  test("let it list and watch the ConfigMaps of that one name in all namespaces", async () => {
    await withWebhookAccount(async (client) => {
      const { items } = await client.request("GET", all, { query: byName(CONFIG_MAP) });
      const names = (items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
      expect(names.length).toBeGreaterThan(1);
      expect(new Set(names)).toEqual(new Set([CONFIG_MAP]));
      const query = { ...byName(CONFIG_MAP), watch: true, timeoutSeconds: 1 };
      expect((await client.stream(all, { query })).readable).toBe(true);
    });
  });

  test("let it list and watch Namespaces, and change none", async () => {
    await withWebhookAccount(async (client) => {
      const path = "/api/v1/namespaces";
      expect((await client.request("GET", path))["kind"]).toBe("NamespaceList");
      expect((await client.stream(path, { query: { watch: true, timeoutSeconds: 1 } })).readable).toBe(true);
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: "new" } };
      await expect(client.request("POST", path, { body })).rejects.toMatchObject({ status: 403 });
    });
  });

  test.each([
    ["any ConfigMap", all, {}],
    ["one of another name", all, byName("kube-root-ca.crt")],
    ["all but that one", all, { fieldSelector: `metadata.name!=${CONFIG_MAP}` }],
    ["those of the system", "/api/v1/namespaces/kube-system/configmaps", {}],
    ["a single one by its path", "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt", {}],
    ["Secrets", "/api/v1/secrets", byName(CONFIG_MAP)],
  ])("do not let it read %s", async (_what, path, query) => {
    await withWebhookAccount(async (client) => {
      await expect(client.request("GET", path, { query })).rejects.toMatchObject({ status: 403 });
      await expect(client.stream(path, { query: { ...query, watch: true } })).rejects.toMatchObject({ status: 403 });
    });
  });

  test("while missing, deny only JobSets that name a policy, and work as soon as they exist", async () => {
    const { home, controlPlane, webhook } = chain;
    const server = { url: controlPlane.server, ca: controlPlane.credentials.authority.cert };
    const folder = join(home.folder, "without-permissions");
    mkdirSync(folder);
    await createNamespace(kubectl, "without");
    const binding = await kubectl(["get", "clusterrolebinding", "reprise-webhook", "-o", "json"]);
    await kubectl(["delete", "clusterrolebinding", "reprise-webhook"]);
    const bundle = join(home.folder, "reprise.js");
    const second = await runWebhook({ ...home, folder }, bundle, {}, { kubectl, server });
    try {
      await registerWebhook(kubectl, second);
      await waitFor("the second webhook is asked", 20_000, async () => {
        const answer = await apply(train("without", "cuda-default")).catch((error: Error) => error.message);
        const denial = /"cuda-default" cannot be looked up: .*has not read the policies of namespaces yet \((.*)/;
        return /403 Forbidden.*retry/.test(denial.exec(answer)?.[1] ?? "");
      });
      const input = stringify(
        jobSet("plain").metadata({ namespace: "without" }).suspended().replicatedJob("workers").build(),
      );
      expect(await kubectl(["apply", "-f", "-"], { input, withWarnings: true })).toMatch(
        /reprise\.dev\/max-restarts of Namespace without could not be read; .*403 Forbidden/,
      );
      expect(await classes("without", "plain")).toEqual([]);
      const { metadata, ...rest } = JSON.parse(binding) as JsonObject & { metadata: JsonObject };
      await apply({ ...rest, metadata: { name: metadata["name"] ?? "" } });
      await waitFor("the permissions take effect", 60_000, () =>
        apply(train("without", "cuda-default")).then(
          () => true,
          () => false,
        ),
      );
      expect(await classes("without")).toEqual([78, 80, 214]);
    } finally {
      await registerWebhook(kubectl, webhook);
      await second.program.kill();
    }
  });
});

async function withWebhookAccount(use: (client: ReturnType<typeof connect>) => Promise<void>): Promise<void> {
  const { home, controlPlane } = chain;
  const server = { url: controlPlane.server, ca: controlPlane.credentials.authority.cert };
  const client = connect({ kubeconfig: await accountKubeconfig(home, "reprise-webhook", { kubectl, server }) });
  try {
    await use(client);
  } finally {
    await client.close();
  }
}
