// The CLI as users run it: a child process with its output and exit code.
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../test/free-port.ts";
import { VERSION } from "../api/version.ts";
import { bundledCli, SLOW } from "./testing.ts";

const cli = bundledCli();
let files = 0;

beforeAll(async () => {
  await symlink(join(cli.folder, "reprise.js"), join(cli.folder, "kubectl-reprise"));
});

async function file(content: string): Promise<string> {
  return join(cli.folder, await cli.file(`file-${++files}.yaml`, content));
}

function kubeconfigFor(server: string): Promise<string> {
  return file(`apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "${server}"}}]
users: [{name: test, user: {token: secret-token}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
`);
}

const STACK = /^\s+at /m;

describe("reprise", SLOW, () => {
  it("prints its version", async () => {
    const expected = { code: 0, stdout: `reprise ${VERSION} (Node.js ${process.versions.node})\n`, stderr: "" };
    expect(await cli.run(["version"])).toEqual(expected);
    expect(await cli.run(["--version"])).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: "" });
  });

  it("shows help with the name that it was called by", async () => {
    expect((await cli.run(["--help"])).stdout).toMatch(/^Usage: reprise \[options\]/);
    expect((await cli.run(["--help"], "", { script: "kubectl-reprise" })).stdout).toMatch(
      /^Usage: kubectl reprise \[options\]/,
    );
  });

  it.each(["20.19.5", "22.18.0"])("refuses to run on Node.js %s with one sentence", async (version) => {
    const versions = `{ ...process.versions, node: "${version}" }`;
    const before = `Object.defineProperty(process, "versions", { value: ${versions} });`;
    const problem = `reprise requires Node.js 22.19 or newer, this is ${version}`;
    expect(await cli.run(["version"], "", { preload: before })).toEqual({
      code: 1,
      stdout: "",
      stderr: `${problem}; install a newer Node.js or use the container image\n`,
    });
  });

  it.each([
    [["vesion"], `unknown command 'vesion' (Did you mean version?); see "reprise --help"`],
    [["version", "--sever"], `unknown option '--sever' (Did you mean --server?); see "reprise --help"`],
    [
      ["version", "--log-level", "loud"],
      "option '--log-level <level>' argument 'loud' is invalid. " +
        'Allowed choices are trace, debug, info, warn, error; see "reprise --help"',
    ],
  ])("reports the mistyped %j in one line", async (args, line) => {
    expect(await cli.run(args)).toEqual({ code: 1, stdout: "", stderr: `reprise: ${line}\n` });
  });

  it("shows the help and fails without a command", async () => {
    const { code, stdout, stderr } = await cli.run([]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^Usage: [\s\S]*\nreprise: no command given; use one of the commands above\n$/);
  });
});

describe("reprise config check", SLOW, () => {
  it("accepts a valid file", async () => {
    const path = await file("injection:\n  restartExitCode: 90\n");
    expect(await cli.run(["config", "check", "--config", path])).toEqual({
      code: 0,
      stdout: `${path} is valid\n`,
      stderr: "",
    });
  });

  it("reports a wrong type and an unknown key in one line each", async () => {
    const path = await file("loglevel: debug\nwebhook:\n  port: https\n");
    const { code, stdout, stderr } = await cli.run(["--config", path, "config", "check"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.trimEnd().split("\n").sort()).toEqual([
      `reprise: ${path}:1: loglevel is not a known setting; did you mean "logLevel"?`,
      `reprise: ${path}:3: webhook.port: expected a whole number from 1 to 65535, found "https"; ` +
        'for example "port: 9443"',
    ]);
  });

  it("names a file that does not exist", async () => {
    const path = join(cli.folder, "nowhere.yaml");
    const problem = `cannot read config file ${path}: ENOENT: no such file or directory, open '${path}'`;
    expect(await cli.run(["config", "check", "--config", path])).toEqual({
      code: 1,
      stdout: "",
      stderr: `reprise: ${problem}; pass a readable file with --config FILE, or omit it to use the defaults\n`,
    });
  });
});

describe("reprise version --server", SLOW, () => {
  it("reports a broken kubeconfig in one line", async () => {
    const path = await file("clusters: [\n");
    const { code, stderr } = await cli.run(["version", "--server", "--kubeconfig", path]);
    expect(code).toBe(1);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toMatch(
      /^reprise: kubeconfig \S+ cannot be read: not valid YAML: .+; pass --kubeconfig FILE, or set /,
    );
  });

  it("reports an unreachable API server in one line, without a stack and without the token", async () => {
    const server = `https://127.0.0.1:${await freePort()}`;
    const { code, stderr } = await cli.run(["version", "--server", "--kubeconfig", await kubeconfigFor(server)]);
    expect(code).toBe(1);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toContain(`reprise: cannot reach API server ${server}: connect ECONNREFUSED`);
    expect(stderr).toContain(
      "; check that it is running, and that clusters[].cluster.server in the kubeconfig is its address",
    );
    expect(stderr).not.toMatch(STACK);
    expect(stderr).not.toContain("secret-token");
  });

  it("adds the stack and its causes at --log-level debug", async () => {
    const server = `https://127.0.0.1:${await freePort()}`;
    const kubeconfig = await kubeconfigFor(server);
    const { code, stderr } = await cli.run(["version", "--server", "--kubeconfig", kubeconfig, "--log-level", "debug"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^reprise: cannot reach API server /);
    expect(stderr).toMatch(STACK);
    expect(stderr).toContain("caused by:");
  });

  it("reports a context that the kubeconfig does not have", async () => {
    const kubeconfig = await kubeconfigFor("https://127.0.0.1:1");
    const { code, stderr } = await cli.run(["version", "--server", "--kubeconfig", kubeconfig, "--context", "prod"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/refers to "prod", which is not in the file; use one of: test\n$/);
  });
});

describe("an unexpected error", SLOW, () => {
  const before = `process.stdout.write = () => { throw new TypeError("out of\\n paper"); };`;

  it("is one line that tells how to get details", async () => {
    expect(await cli.run(["version"], "", { preload: before })).toEqual({
      code: 1,
      stdout: "",
      stderr: "reprise: unexpected error: out of paper; run again with --log-level debug for details\n",
    });
  });

  it("has its stack at --log-level debug", async () => {
    expect((await cli.run(["version", "--log-level", "debug"], "", { preload: before })).stderr).toMatch(STACK);
  });

  it("is reported the same way if it is thrown outside the command", async () => {
    const ready = `process.listenerCount("uncaughtException") > 0`;
    const later = `setInterval(() => { if (${ready}) throw new Error("late"); }, 10);`;
    const { code, stderr } = await cli.run(["version"], "", { preload: later });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "reprise: unexpected error: late; run again with --log-level debug for details\n",
    });
  });
});
