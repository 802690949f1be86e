// What is in Git stays a plain JobSet: applying it again, with any tool, changes nothing and is never refused.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { APPLY_PATCH, connect, type KubeClient } from "../../src/kube/client.ts";
import type { Kubectl } from "../cluster/kubectl.ts";
import { waitFor } from "../cluster/proc.ts";
import { startNeighbor } from "../neighbor-webhook.ts";
import { createNamespace } from "../reprise-programs.ts";
import { type AdmissionChain, startAdmissionChain } from "./admission-chain.ts";

let chain: AdmissionChain;
let kubectl: Kubectl;
let client: KubeClient;

beforeAll(async () => {
  chain = await startAdmissionChain();
  kubectl = chain.controlPlane.kubectl;
  client = connect({ kubeconfig: chain.controlPlane.kubeconfig });
});

afterAll(async () => {
  await client.close();
  await chain.controlPlane.stop();
});

/** With reprise's webhook alone, and beside another one that adds containers before and after reprise's. */
describe.each([
  ["alone", false],
  ["beside another webhook that adds init containers before and after the agent", true],
] as const)("%s", (_, withNeighbor) => {
  let namespace: string;
  let stopNeighbor = async () => {};

  beforeAll(async () => {
    namespace = withNeighbor ? "beside" : "alone";
    await createNamespace(kubectl, namespace, { neighbor: String(withNeighbor) });
    if (withNeighbor) stopNeighbor = await startAddingNeighbor();
  });

  afterAll(async () => {
    await stopNeighbor();
  });

  const inNamespace: Kubectl = (args, options) => kubectl(["-n", namespace, ...args], options);
  const apply = (input: string, ...flags: string[]) => inNamespace(["apply", ...flags, "-f", "-"], { input });
  const get = async (name: string) =>
    JSON.parse(await inNamespace(["get", "jobset", name, "-o", "json"])) as StoredJobSet;

  /** Waits until JobSet's controller has stopped writing the status, so that later writes do not conflict. */
  const settled = (name: string) =>
    waitFor(`the status of ${name} settles`, 30_000, async () => {
      const before = await get(name);
      await sleep(500);
      return (await get(name)).metadata.resourceVersion === before.metadata.resourceVersion;
    });

  async function expectUntouched(name: string, change: () => Promise<unknown>): Promise<void> {
    await settled(name);
    const before = await get(name);
    await change();
    const after = await get(name);
    expect(after.metadata.generation).toBe(before.metadata.generation);
    expect(after.spec).toEqual(before.spec);
  }

  test("a plain JobSet is injected: the agent is the first init container", async () => {
    await apply(plain("injected"));
    const stored = await get("injected");
    const names = initContainers(stored).map(({ name }) => name);
    expect(names).toEqual(withNeighbor ? ["reprise-agent", "before", "after"] : ["reprise-agent"]);
    expect(stored.metadata.labels).toMatchObject({ "reprise.dev/injected": "true" });
  });

  test("client-side apply twice: the second changes nothing, and diff is empty", async () => {
    await apply(plain("client-side"));
    await expectUntouched("client-side", () => apply(plain("client-side")));
    expect(await inNamespace(["diff", "-f", "-"], { input: plain("client-side") })).toBe("");
  });

  test("server-side apply twice: the second changes nothing, and diff is empty", async () => {
    await apply(plain("server-side"), "--server-side");
    await expectUntouched("server-side", () => apply(plain("server-side"), "--server-side"));
    const diff = inNamespace(["diff", "--server-side", "-f", "-"], { input: plain("server-side") });
    expect(await diff).toBe("");
  });

  test("server-side apply over a client-side one, as after a change of tool", async () => {
    await apply(plain("moved"));
    await expectUntouched("moved", () => apply(plain("moved"), "--server-side", "--force-conflicts"));
  });

  test("replace with the plain JobSet", async () => {
    await apply(plain("replaced"));
    await expectUntouched("replaced", () => inNamespace(["replace", "-f", "-"], { input: plain("replaced") }));
  });

  test("an object read from the cluster can be written back", async () => {
    await apply(plain("written-back"));
    // The object carries its resourceVersion: a status write of JobSet's controller in between is a conflict.
    const writeBack = async () => {
      const stored = await inNamespace(["get", "jobset", "written-back", "-o", "yaml"]);
      await inNamespace(["replace", "-f", "-"], { input: stored });
    };
    await expectUntouched("written-back", () => vi.waitFor(writeBack, { timeout: 10_000 }));
  });

  test("a label can be patched", async () => {
    await apply(plain("labeled"));
    await expectUntouched("labeled", () => inNamespace(["label", "jobset", "labeled", "team=a"]));
    expect((await get("labeled")).metadata.labels).toMatchObject({ team: "a", "reprise.dev/injected": "true" });
  });

  // As an audit log of test/ecosystem has these requests: both tools look for drift with a dry run, with force.
  test.each([
    ["Flux", "kustomize-controller", { "kustomize.toolkit.fluxcd.io/name": "training" }, {}],
    ["Argo CD", "argocd-controller", {}, { "argocd.argoproj.io/tracking-id": "training:jobset.x-k8s.io/JobSet:a/b" }],
  ])(
    "%s: its dry run equals what is stored, and its apply changes nothing",
    async (_, manager, labels, annotations) => {
      const name = manager;
      const body = { ...parse(plain(name)), metadata: { name, namespace, labels, annotations } };
      const send = (query: Readonly<Record<string, string>>) =>
        client.request("PATCH", `/apis/jobset.x-k8s.io/v1alpha2/namespaces/${namespace}/jobsets/${name}`, {
          body,
          contentType: APPLY_PATCH,
          query: { fieldManager: manager, force: true, ...query },
        });
      await send({});
      await expectUntouched(name, async () => {
        for (let time = 0; time < 10; time += 1) {
          const { metadata, spec } = await get(name);
          const predicted = await send({ dryRun: "All" });
          expect(predicted).toMatchObject({
            spec,
            metadata: { labels: metadata.labels, generation: metadata.generation },
          });
          await send({});
        }
      });
    },
  );

  test("Argo CD: the dry run of its diff equals what its client-side apply has stored", async () => {
    const asArgo = ["--field-manager=argocd-controller"];
    await apply(plain("argo"), ...asArgo);
    await expectUntouched("argo", async () => {
      const flags = [...asArgo, "--server-side", "--force-conflicts", "--dry-run=server", "-o", "json"];
      const predicted = JSON.parse(await apply(plain("argo"), ...flags)) as StoredJobSet;
      const { metadata, spec } = await get("argo");
      expect(predicted).toMatchObject({ spec, metadata: { labels: metadata.labels, generation: metadata.generation } });
      await apply(plain("argo"), ...asArgo);
    });
  });

  test("a patch that scales to the size it has", async () => {
    await apply(plain("scaled"));
    const patch = JSON.stringify([{ op: "replace", path: "/spec/replicatedJobs/0/replicas", value: 2 }]);
    await expectUntouched("scaled", () => inNamespace(["patch", "jobset", "scaled", "--type=json", "-p", patch]));
  });

  test("suspend, change a field that JobSet allows to change, apply again, resume", async () => {
    await apply(plain("suspended"));
    await apply(plain("suspended").replace("spec:\n", "spec:\n  suspend: true\n"));
    const moved = plain("suspended")
      .replace("spec:\n", "spec:\n  suspend: true\n")
      .replace("            containers:", "            nodeSelector: {pool: b}\n            containers:");
    await apply(moved);
    const stored = await get("suspended");
    expect(podSpec(stored)).toMatchObject({ nodeSelector: { pool: "b" } });
    expect(initContainers(stored)[0]).toMatchObject({ name: "reprise-agent" });
    await expectUntouched("suspended", () => apply(moved));
    await apply(moved.replace("suspend: true", "suspend: false"));
    expect((await get("suspended")).spec).toMatchObject({ suspend: false });
    await expectUntouched("suspended", () => apply(moved.replace("suspend: true", "suspend: false")));
  });

  test("a change that JobSet does not allow is rejected with JobSet's own message", async () => {
    await apply(plain("changed"));
    const changed = plain("changed").replace("local/busybox:1", "local/busybox:2");
    await expect(apply(changed)).rejects.toThrow(/field is immutable/);
  });

  test("disabling injection on a live JobSet changes nothing and warns about it", async () => {
    await apply(plain("toggled"));
    await expectUntouched("toggled", async () => {
      const toggle = ["annotate", "jobset", "toggled", "reprise.dev/inject=false"];
      expect(await inNamespace(toggle, { withWarnings: true })).toMatch(/Warning: .*reprise\.dev\/inject/);
    });
  });
});

test("a server-side dry run returns the injected JobSet and stores nothing", async () => {
  await createNamespace(kubectl, "dry");
  const shown = await kubectl(["apply", "-n", "dry", "--dry-run=server", "-o", "yaml", "-f", "-"], {
    input: plain("dry"),
  });
  expect(shown).toContain("reprise-agent");
  expect(await kubectl(["get", "jobsets", "-n", "dry", "-o", "name"])).toBe("");
});

test("a namespace without the label, and a JobSet that opted out, stay plain", async () => {
  await kubectl(["create", "namespace", "unlabeled"]);
  await createNamespace(kubectl, "labeled");
  const optedOut = plain("plain").replace("name: plain", 'name: plain\n  annotations: {reprise.dev/inject: "false"}');
  await kubectl(["apply", "-n", "unlabeled", "-f", "-"], { input: plain("plain") });
  await kubectl(["apply", "-n", "labeled", "-f", "-"], { input: optedOut });
  for (const namespace of ["unlabeled", "labeled"]) {
    expect(await kubectl(["get", "jobset", "plain", "-n", namespace, "-o", "yaml"])).not.toContain("reprise-agent");
  }
});

interface StoredJobSet {
  readonly metadata: {
    readonly generation: number;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly replicatedJobs: readonly {
      readonly template: { readonly spec: { readonly template: { readonly spec: PodSpec } } };
    }[];
  };
}

interface PodSpec {
  readonly initContainers?: readonly { readonly name: string }[];
}

const podSpec = (stored: StoredJobSet): PodSpec => stored.spec.replicatedJobs[0]?.template.spec.template.spec ?? {};
const initContainers = (stored: StoredJobSet): readonly { readonly name: string }[] =>
  podSpec(stored).initContainers ?? [];

/** The JobSet in the user's Git repository. */
const plain = (name: string): string => `apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: ${name}
spec:
  failurePolicy:
    maxRestarts: 3
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
          spec:
            containers:
            - name: trainer
              image: local/busybox:1
              command: [sleep, "600"]
`;

/** Another team's webhook, which adds an init container first and one last. Its name sorts after reprise's. */
function startAddingNeighbor(): Promise<() => Promise<void>> {
  return startNeighbor<StoredJobSet>(kubectl, {
    name: "zz-neighbor",
    address: "127.0.0.1",
    namespaces: { neighbor: "true" },
    rule: {
      apiGroups: ["jobset.x-k8s.io"],
      apiVersions: ["v1alpha2"],
      operations: ["CREATE", "UPDATE"],
      resources: ["jobsets"],
    },
    patch(object) {
      const path = "/spec/replicatedJobs/0/template/spec/template/spec/initContainers";
      const present = initContainers(object);
      const container = (name: string) => ({ name, image: "local/busybox:1", command: ["true"] });
      const value = [container("before"), ...present, container("after")];
      return present.some(({ name }) => name === "before") ? [] : [{ op: "add", path, value }];
    },
  });
}
