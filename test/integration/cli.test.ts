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
import { waitFor } from "../cluster/proc.ts";
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

describe("reprise status -w on a terminal", () => {
  const [columns, rows] = [72, 12];

  it("draws one screen again and again, fits into it, and leaves the terminal as it was on Ctrl-C", async () => {
    const status = ["status", "d-injected", "-w", "-n", "team", "--kubeconfig", cluster.kubeconfig];
    const command = [process.execPath, join(cli.folder, "reprise.js"), ...status].join(" ");
    // A pseudo-terminal of its own, so that the keys are those of a user.
    const sized = `stty cols ${columns} rows ${rows}; exec ${command}`;
    const terminal = spawn("script", ["--quiet", "--return", "--flush", "--command", sized, "/dev/null"]);
    let shown = "";
    terminal.stdout.on("data", (chunk: Buffer) => {
      shown += chunk.toString();
    });
    const isShown = (text: RegExp) => waitFor(`the terminal shows ${text}`, 30_000, async () => text.test(shown));
    const [enter, clear, leave] = ["\u001b[?1049h\u001b[?25l", "\u001b[H\u001b[J", "\u001b[?25h\u001b[?1049l"];
    const screens = () => shown.split(clear).slice(1);
    await isShown(/Phase +Running/);
    expect(shown.startsWith(enter + clear)).toBe(true);
    const change = { restarts: 1, phase: "Restarting", ready: "3/4", deprecatedEpoch: 1, conditions: [stalled()] };
    const patch = ["--subresource=status", "--type=merge", "-p", JSON.stringify({ status: change })];
    await cluster.kubectl(["patch", "inplacerestart", "d-injected", "-n", "team", ...patch]);
    await isShown(/Phase +Restarting\r\n/);
    const drawn = screens().length;
    await waitFor("it draws the screen again without a change", 30_000, async () => screens().length > drawn);

    terminal.stdin.write("\u0003");
    const [code] = await once(terminal, "close");
    expect(code).toBe(0);
    expect(shown.endsWith(leave)).toBe(true);
    for (const screen of screens()) {
      // What follows the last screen leaves it; Ctrl-C is echoed.
      const [text = ""] = screen.replace("^C", "").split("\u001b");
      const lines = text.split("\r\n");
      expect(lines.length).toBeLessThan(rows);
      expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(columns);
      expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d {2}Ctrl-C ends$/);
    }
    // The message is longer than a line, and would move the others.
    expect(screens().at(-1)).not.toContain("the end");
  });

  function stalled() {
    const message = `${"waiting for a Pod ".repeat(10)}the end`;
    return { type: "Stalled", status: "True", reason: "Unschedulable", message, lastTransitionTime: new Date() };
  }
});

describe("reprise explain JOBSET", () => {
  const explain = async (name: string, ...args: readonly string[]) => {
    return await cli.run(["explain", name, "-n", "team", "--kubeconfig", cluster.kubeconfig, ...args]);
  };

  it("says of an injected JobSet what was injected and what happens when it fails", async () => {
    const { code, stdout, stderr } = await explain("d-injected");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^JobSet team\/d-injected\n\nInjection\n {2}injected by reprise \S+: .*group of 4 Pods/);
    expect(stdout).toContain("\nWhen a worker exits\n  exit 0: the worker has succeeded\n");
    expect(stdout).toContain("restart it by hand: reprise restart d-injected -n team --reason");
  });

  it("says of a plain one why it was not injected, and what would change that", async () => {
    expect((await explain("a-plain")).stdout).toBe(
      "JobSet team/a-plain\n\nInjection\n  not injected: its namespace is never injected, or has no label " +
        "reprise.dev/injection=enabled (namespace-not-enabled)\n",
    );
    await cluster.kubectl(["label", "namespace", "team", "reprise.dev/injection=enabled"]);
    const { stdout } = await explain("a-plain");
    expect(stdout).toContain(
      "not injected: it was created without injection, and nothing is injected later; delete it",
    );
    expect(stdout).toMatch(/\n {2}then: injected by reprise \S+: .*group of 4 Pods/);
    expect((await explain("c-out")).stdout).toContain(
      '  not injected: it has the annotation reprise.dev/inject: "false" (disabled-by-annotation)\n',
    );
    expect((await explain("b-wrong")).stdout).toMatch(
      / {2}refused:\n {4}metadata\.annotations\[reprise\.dev\/max-restarts\]: /,
    );
  });

  it("uses the failure policies of the namespace", async () => {
    const { stdout } = await explain("e-policy");
    expect(stdout).toContain("\n  exit 42: fails the JobSet\n");
  });

  it("is data for programs with -o json", async () => {
    const { stdout } = await explain("d-injected", "-o", "json");
    const { jobSets } = JSON.parse(stdout);
    expect(jobSets).toMatchObject([{ jobSet: "team/d-injected", sections: [{ title: "Injection" }, {}, {}, {}, {}] }]);
  });

  it("says that a JobSet does not exist", async () => {
    const { code, stderr } = await explain("missing");
    expect(stderr).toMatch(/JobSet missing does not exist in namespace team/);
    expect(code).toBe(1);
  });
});
