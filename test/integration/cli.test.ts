// The bundled CLI against a real API server.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BundledCli } from "../../src/cli/testing.ts";
import type { JsonObject } from "../../src/json/types.ts";
import { create, injected } from "../builders/injection.ts";
import { jobSet } from "../builders/jobset.ts";
import { assetFolder, ensureBinaries } from "../cluster/binaries.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { terminalProgress } from "../cluster/progress.ts";

const JOBSETS = "jobsets.jobset.x-k8s.io";
const CRD = new URL("../../manifests/crd/reprise.dev_inplacerestarts.yaml", import.meta.url).pathname;

let cluster: ControlPlane;
let cli: BundledCli;

beforeAll(async () => {
  [cluster, cli] = await Promise.all([startControlPlane(), BundledCli.build()]);
});

afterAll(async () => {
  await cli?.remove();
  await cluster?.stop();
});

describe("reprise version --server", () => {
  it("prints the version and address of the cluster in the kubeconfig, and exits", async () => {
    const { stdout, stderr } = await cli.run(["version", "--server", "--kubeconfig", cluster.kubeconfig]);
    const { serverVersion } = JSON.parse(await cluster.kubectl(["version", "-o", "json"]));
    expect(stdout.split("\n")[1]).toBe(`Kubernetes ${serverVersion.gitVersion} at ${cluster.server}`);
    expect(stderr).toBe("");
  });
});

describe("reprise validate --from-cluster", () => {
  const workers = (name: string, namespace = "team") =>
    jobSet(name)
      .metadata({ namespace })
      .replicatedJob("workers", { pods: 4, job: { completionMode: "Indexed" } });

  beforeAll(async () => {
    await ensureBinaries(["jobset"], terminalProgress());
    await cluster.kubectl([
      "apply",
      "--server-side",
      "-f",
      join(assetFolder("jobset"), "components/crd/bases/jobset.x-k8s.io_jobsets.yaml"),
    ]);
    // kubectl fails at once if a CRD has no conditions yet.
    for (const state of ["jsonpath={.status.conditions}", "condition=Established"]) {
      await cluster.kubectl(["wait", `--for=${state}`, `crd/${JOBSETS}`]);
    }
    for (const namespace of ["team", "other", "empty"]) await cluster.kubectl(["create", "namespace", namespace]);
    const policies = ["--from-literal=mine=failExitCodes: 42", "-n", "team"];
    await cluster.kubectl(["create", "configmap", "reprise-failure-policies", ...policies]);
    const objects: JsonObject[] = [
      workers("a-plain").build(),
      workers("b-wrong").annotation("reprise.dev/max-restarts", "many").build(),
      workers("c-out").annotation("reprise.dev/inject", "false").build(),
      injected(create(workers("d-injected").build())),
      workers("e-policy").annotation("reprise.dev/failure-policy", "mine").build(),
      workers("elsewhere", "other").build(),
    ];
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
    await cluster.kubectl(["create", "-f", "-"], { input: list });
  }, 600_000);

  const validate = (...args: readonly string[]) =>
    cli.run(["validate", "--from-cluster", "--kubeconfig", cluster.kubeconfig, ...args]);

  it("says what injection would do to each JobSet of a namespace, and changes none", async () => {
    const versions = () =>
      cluster.kubectl(["get", "jobsets", "-A", "-o", "jsonpath={.items[*].metadata.resourceVersion}"]);
    const before = await versions();
    const { code, stdout, stderr } = await validate("-n", "team");
    expect(stdout.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^JobSet team\/a-plain: valid\b.*: group of 4 Pods\b/),
      expect.stringMatching(/^JobSet team\/b-wrong: invalid \(1 error\b/),
      "JobSet team/c-out: would not be injected (disabled-by-annotation)",
      expect.stringMatching(/^JobSet team\/d-injected: valid, already injected\b.*: group of 4 Pods\b/),
      expect.stringMatching(/^JobSet team\/e-policy: valid\b.*: group of 4 Pods\b.*, exit 42 fails the JobSet/),
    ]);
    expect(stderr).toMatch(/^JobSet team\/b-wrong: error: metadata\.annotations\[reprise\.dev\/max-restarts\]: /m);
    expect(code).toBe(1);
    expect(await versions()).toBe(before);
  });

  it("reads all namespaces with -A", async () => {
    const { stdout } = await validate("-A", "-o", "json");
    const { jobSets } = JSON.parse(stdout) as { readonly jobSets: readonly { readonly jobSet: string }[] };
    expect(jobSets).toHaveLength(6);
    expect(jobSets.map((each) => each.jobSet)).toContain("other/elsewhere");
  });

  it("needs no right but to read JobSets, and says what else it could not read", async () => {
    await cluster.kubectl(["create", "serviceaccount", "reader", "-n", "team"]);
    await cluster.kubectl(["create", "role", "reader", "-n", "team", "--verb=list", `--resource=${JOBSETS}`]);
    const binding = ["--role=reader", "--serviceaccount=team:reader"];
    await cluster.kubectl(["create", "rolebinding", "reader", "-n", "team", ...binding]);
    const token = await cluster.kubectl(["create", "token", "reader", "-n", "team"]);
    const config = {
      "current-context": "reader",
      clusters: [{ name: "c", cluster: { server: cluster.server, "insecure-skip-tls-verify": true } }],
      users: [{ name: "reader", user: { token: token.trim() } }],
      contexts: [{ name: "reader", context: { cluster: "c", user: "reader", namespace: "team" } }],
    };
    const kubeconfig = await cli.file("reader.kubeconfig", JSON.stringify(config));
    const { stdout, stderr } = await cli.run(["validate", "--from-cluster", "--kubeconfig", kubeconfig]);
    expect(stdout.match(/(?<=team\/)\S+: \w+/g)).toEqual([
      "a-plain: valid",
      "b-wrong: invalid",
      "c-out: would",
      "d-injected: valid",
      "e-policy: invalid",
    ]);
    expect(stderr).toMatch(/^JobSet team\/e-policy: error: .+configmaps .+ is forbidden.+ \[failure-policy\]$/m);
  });

  it("says that a namespace has no JobSet", async () => {
    expect(await validate("-n", "empty")).toEqual({ code: 0, stdout: "", stderr: "no JobSet in namespace empty\n" });
  });
});

describe("reprise restart", () => {
  const restart = (name: string, reason = "loss is NaN") =>
    cli.run(["restart", name, "-n", "team", "--reason", reason, "--kubeconfig", cluster.kubeconfig]);
  const patch = (body: object, ...args: readonly string[]) =>
    cluster.kubectl([
      "patch",
      "jobset",
      "d-injected",
      "-n",
      "team",
      "--type=merge",
      "-p",
      JSON.stringify(body),
      ...args,
    ]);
  const requested = () =>
    cluster.kubectl([
      "get",
      "jobset",
      "d-injected",
      "-n",
      "team",
      "-o",
      "jsonpath={.metadata.annotations.reprise\\.dev/restart-request}",
    ]);

  beforeAll(async () => {
    await cluster.kubectl(["apply", "--server-side", "-f", CRD]);
    for (const state of ["jsonpath={.status.conditions}", "condition=Established"]) {
      await cluster.kubectl(["wait", `--for=${state}`, "crd/inplacerestarts.reprise.dev"]);
    }
    const uid = await cluster.kubectl(["get", "jobset", "d-injected", "-n", "team", "-o", "jsonpath={.metadata.uid}"]);
    const metadata = { name: "d-injected", namespace: "team" };
    const input = JSON.stringify({
      apiVersion: "reprise.dev/v1alpha1",
      kind: "InPlaceRestart",
      metadata,
      spec: { jobSetUID: uid },
    });
    await cluster.kubectl(["create", "-f", "-"], { input });
  });

  it.each([
    ["missing", /JobSet missing does not exist in namespace team/],
    ["a-plain", /does not restart in place: it was not injected/],
  ])("refuses JobSet %s", async (name, message) => {
    const { code, stderr } = await restart(name);
    expect(stderr).toMatch(message);
    expect(code).toBe(1);
  });

  it("refuses a reason that does not fit into a line of 200 characters", async () => {
    const { code, stderr } = await restart("d-injected", "x".repeat(200));
    expect(stderr).toMatch(/is not a text of 1 to 200 characters in one line; pass a shorter one with --reason$/m);
    expect(code).toBe(1);
    expect(await requested()).toBe("");
  });

  it("writes the reason, the user and the time, and says how to follow the restart", async () => {
    const { code, stdout, stderr } = await restart("d-injected");
    const text = await requested();
    expect(text).toMatch(/^loss is NaN \(\S+, 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\)$/);
    const user = await cluster.kubectl(["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]);
    expect(text).toContain(`(${user}, `);
    const follow = "follow it with: reprise status d-injected -n team";
    expect(stdout).toBe(`JobSet team/d-injected: restart requested: ${JSON.stringify(text)}; ${follow}\n`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("gives up waiting after the timeout, and says where to look", async () => {
    const args = ["restart", "d-injected", "-n", "team", "--reason", "again", "--wait", "--timeout", "1s"];
    const { code, stderr } = await cli.run([...args, "--kubeconfig", cluster.kubeconfig]);
    expect(stderr).toMatch(/does not run again in time; .*see what it waits for: reprise status d-injected -n team$/m);
    expect(code).toBe(1);
  });

  it("refuses a JobSet that is suspended or has ended", async () => {
    const before = await requested();
    await patch({ spec: { suspend: true } });
    expect((await restart("d-injected")).stderr).toMatch(/is suspended, so nothing runs; to start it: kubectl patch/);
    const condition = { type: "Failed", status: "True", reason: "x", message: "", lastTransitionTime: new Date() };
    await patch({ status: { conditions: [condition] } }, "--subresource=status");
    expect((await restart("d-injected")).stderr).toMatch(/has failed, so nothing runs; to run it again, delete it/);
    expect(await requested()).toBe(before);
  });
});

describe("reprise status -w", () => {
  it("prints a line for each change if the output is not a terminal, and ends on a signal", async () => {
    const args = ["status", "-w", "-n", "team", "--kubeconfig", cluster.kubeconfig];
    const child = spawn(process.execPath, [join(cli.folder, "reprise.js"), ...args]);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    expect((await lines.next()).value).toMatch(/^\d\d:\d\d:\d\d {2}team\/d-injected {2}Starting\b/);
    const status = { deprecatedEpoch: 0, syncedEpoch: 1, restarts: 0, phase: "Running", ready: "4/4" };
    const patch = ["--subresource=status", "--type=merge", "-p", JSON.stringify({ status })];
    await cluster.kubectl(["patch", "inplacerestart", "d-injected", "-n", "team", ...patch]);
    expect((await lines.next()).value).toMatch(/ team\/d-injected {2}Running {2}4\/4 {2}1 /);
    child.kill("SIGINT");
    const [code] = await once(child, "close");
    expect(code).toBe(0);
  });
});
