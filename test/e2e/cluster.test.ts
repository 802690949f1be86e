// The command line of the local cluster, on this machine.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cluster, defaultStateDir } from "../cluster/cluster.ts";
import type { Kubectl } from "../cluster/kubectl.ts";
import { waitFor } from "../cluster/proc.ts";
import { silentProgress } from "../cluster/progress.ts";
import { run } from "../cluster/run.ts";
import { type MachineSnapshot, takeSnapshot } from "./machine-snapshot.ts";
import { freeTestSlot } from "./test-slot.ts";

const slot = freeTestSlot();

interface Result {
  readonly code: number | null;
  readonly output: string;
}

function start(...args: string[]): ChildProcess {
  const cli = new URL("../cluster/cli.ts", import.meta.url).pathname;
  return spawn(process.execPath, [cli, ...args, "--slot", String(slot)], { stdio: ["ignore", "pipe", "pipe"] });
}

async function cluster(...args: string[]): Promise<Result> {
  const child = start(...args);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

describe("a cluster with two nodes, JobSet and cert-manager", () => {
  let before: MachineSnapshot;
  let attached: Cluster;
  let kubectl: Kubectl;

  beforeAll(async () => {
    before = takeSnapshot();
    const up = await cluster("up", "--nodes", "2", "--with", "cert-manager");
    expect(up, up.output).toMatchObject({ code: 0 });
    attached = await Cluster.attach(defaultStateDir(slot), silentProgress);
    kubectl = attached.kubectl;
  });

  afterAll(async () => {
    await cluster("down");
  });

  test("both nodes are Ready and declare that they can restart all containers of a Pod in place", async () => {
    const nodes = JSON.parse(await kubectl(["get", "nodes", "-o", "json"])) as NodeList;
    expect(nodes.items.map((node) => node.metadata.name)).toEqual(["node-1", "node-2"]);
    for (const node of nodes.items) {
      expect(node.status.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
      expect(node.status.declaredFeatures).toContain("RestartAllContainersOnContainerExits");
    }
  });

  test("the bridge between the nodes has its own MAC, which no node that joins can change", () => {
    const { pid } = attached.program("kube-apiserver");
    const json = run(["nsenter", `--target=${pid}`, "--net", "ip", "-json", "link", "show"]);
    const links = JSON.parse(json) as { ifname: string; address: string; master?: string }[];
    const ports = links.filter(({ master }) => master === "nodes").map(({ address }) => address);
    expect(ports).toHaveLength(3);
    expect(ports).not.toContain(links.find(({ ifname }) => ifname === "nodes")?.address);
  });

  test("a JobSet is accepted, its Pods run on both nodes, and logs and exec reach them", async () => {
    await kubectl(["apply", "-f", "-"], { input: helloJobSet });
    await kubectl(["wait", "pods", "-l", "jobset.sigs.k8s.io/jobset-name=hello", "--for=create", "--timeout=30s"]);
    await waitFor("four Pods are Ready", 60_000, async () => {
      const phases = await kubectl(["get", "pods", "-o", "jsonpath={.items[*].status.phase}"]);
      return phases.split(" ").filter((phase) => phase === "Running").length === 4;
    });
    const used = await kubectl(["get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}"]);
    expect(new Set(used.split(" "))).toEqual(new Set(["node-1", "node-2"]));
    for (const pod of (await kubectl(["get", "pods", "-o", "name"])).trim().split("\n")) {
      expect(await kubectl(["logs", pod])).toMatch(/^hello from /);
      expect(await kubectl(["exec", pod, "--", "echo", "reached"])).toBe("reached\n");
    }
  });

  test("JobSet's webhook, behind its Service, rejects an invalid JobSet", async () => {
    const wrong = helloJobSet
      .replace("name: hello", "name: wrong")
      .replace("replicas: 2", "replicas: 2\n    dependsOn: [{name: x, status: Ready}]");
    await expect(kubectl(["apply", "-f", "-"], { input: wrong })).rejects.toThrow(
      /DependsOn can't be set for the first ReplicatedJob/,
    );
  });

  test("a Pod reaches the API server at the address of the kubernetes Service", async () => {
    const pod = (await kubectl(["get", "pods", "-o", "name"])).split("\n")[0] ?? "";
    const script = "nc -w 3 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT </dev/null && echo open";
    expect(await kubectl(["exec", pod, "--", "sh", "-c", script])).toBe("open\n");
  });

  test("cert-manager issues a certificate", async () => {
    await kubectl(["apply", "-f", "-"], { input: certificate });
    await kubectl(["wait", "certificate/probe", "--for=condition=Ready", "--timeout=60s"]);
    const secret = await kubectl(["get", "secret", "probe-tls", "-o", "jsonpath={.data.tls\\.crt}"]);
    expect(Buffer.from(secret, "base64").toString()).toMatch(/BEGIN CERTIFICATE/);
  });

  test("status names every program, env names the kubeconfig, logs prints, load refuses a missing file", async () => {
    const status = await cluster("status");
    for (const name of ["etcd", "kube-apiserver", "kubelet-1", "kubelet-2", "containerd-2"]) {
      expect(status.output).toMatch(new RegExp(`running\\s+${name} `));
    }
    expect((await cluster("env")).output).toMatch(/^export KUBECONFIG=\S+admin\.kubeconfig\n$/);
    expect((await cluster("logs", "kubelet-1")).output).toMatch(/Kubelet version/);
    const unknown = await cluster("logs", "kubelet-9");
    expect(unknown).toMatchObject({ code: 1, output: expect.stringMatching(/kubelet-9 is not a program.*kubelet-1/) });
    const missing = await cluster("load", "/does/not/exist.tar");
    expect(missing).toMatchObject({
      code: 1,
      output: expect.stringMatching(/exist\.tar does not exist: give the path/),
    });
  });

  test("up refuses a slot that is in use and names its holder, in the same state folder and in another", async () => {
    const again = await cluster("up");
    expect(again).toMatchObject({ code: 1, output: expect.stringMatching(/a cluster is up in .* run ".*down" first/) });
    const folder = mkdtempSync(join(tmpdir(), "reprise-other-"));
    const other = await cluster("up", "--state-dir", folder);
    rmSync(folder, { recursive: true });
    expect(other).toMatchObject({
      code: 1,
      output: expect.stringMatching(/slot \d+ is held by the cluster in .*checkout/),
    });
  });

  test("down leaves no process, mount, link, route, rule, cgroup or file, even with a stopped kubelet", async () => {
    process.kill(attached.program("kubelet-2").pid, "SIGSTOP");
    expect(takeSnapshot().links).not.toEqual(before.links); // Proves that the comparison below can fail.
    expect(await cluster("down")).toMatchObject({ code: 0 });
    expect(takeSnapshot()).toEqual(before);
    expect(await cluster("down")).toMatchObject({ code: 0, output: "there is no cluster to end\n" });
  });
});

describe("up killed with SIGKILL", () => {
  // Each moment is a line that `up` prints, and a delay after it.
  test.each([
    ["starting the control plane", 50],
    ["starting 2 nodes", 700],
    ["installing jobset", 300],
  ])("%s + %i ms: down removes every trace", async (line, delay) => {
    const before = takeSnapshot();
    const child = start("up", "--nodes", "2");
    await printed(child, `${line} ...`);
    await sleep(delay);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await cluster("up")).toMatchObject({ code: 1, output: expect.stringMatching(/was not ended cleanly/) });
    expect(await cluster("down")).toMatchObject({ code: 0, output: "the cluster is gone\n" });
    expect(takeSnapshot()).toEqual(before);
  });
});

test("up without --nodes starts one node and waits until it is Ready", async () => {
  const up = await cluster("up", "--without-jobset");
  expect(up, up.output).toMatchObject({ code: 0 });
  const { kubectl } = await Cluster.attach(defaultStateDir(slot), silentProgress);
  expect(await kubectl(["get", "nodes", "--no-headers"])).toMatch(/^node-1\s+Ready\s.*\n$/);
  expect(await cluster("down")).toMatchObject({ code: 0 });
});

test("up and down never touch a folder that they did not create", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reprise-foreign-"));
  writeFileSync(join(folder, "precious"), "data");
  const up = await cluster("up", "--state-dir", folder);
  expect(up).toMatchObject({ code: 1, output: expect.stringMatching(/is not empty and was not made by this tool/) });
  expect(await cluster("down", "--state-dir", folder)).toMatchObject({ output: "there is no cluster to end\n" });
  rmSync(join(folder, "precious")); // Throws if it had been removed.
  rmSync(folder, { recursive: true });
});

/** Resolves when the child has printed the text, and rejects when it exits before. */
async function printed(child: ChildProcess, text: string): Promise<void> {
  let output = "";
  await new Promise<void>((resolve, reject) => {
    child.once("close", () => reject(new Error(`up ended without "${text}":\n${output}`)));
    child.stderr?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes(text)) resolve();
    });
  });
}

interface NodeList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status: { readonly conditions: readonly object[]; readonly declaredFeatures: readonly string[] };
  }[];
}

const helloJobSet = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: hello
spec:
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
          spec:
            topologySpreadConstraints:
            - maxSkew: 1
              topologyKey: kubernetes.io/hostname
              whenUnsatisfiable: DoNotSchedule
              labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: hello}}
            containers:
            - name: main
              image: local/busybox:1
              command: [sh, -c, "echo hello from $HOSTNAME; sleep 600"]
`;

const certificate = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: probe}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: probe}
spec:
  secretName: probe-tls
  dnsNames: [probe.example]
  issuerRef: {name: probe}
`;
