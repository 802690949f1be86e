// Runs the bundle as users do: another process, its output and its exit code.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleCli } from "../../scripts/bundle.ts";
import { VERSION } from "../api/version.ts";

let folder: string;
let files = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "reprise-cli-"));
  await bundleCli(folder);
  symlinkSync(join(folder, "reprise.js"), join(folder, "kubectl-reprise"));
}, 60_000);

afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Start {
  readonly script?: string;
  /** Code that runs first in the new process, for conditions that cannot be provoked from outside. */
  readonly before?: string;
}

function reprise(args: readonly string[], { script = "reprise.js", before }: Start = {}): Promise<Ended> {
  const preload = before === undefined ? [] : ["--import", `data:text/javascript,${encodeURIComponent(before)}`];
  // No KUBECONFIG and no home directory: what the machine has must not decide.
  const options = { env: { PATH: process.env["PATH"], HOME: folder }, timeout: 100_000 };
  return new Promise((resolve) => {
    execFile(process.execPath, [...preload, join(folder, script), ...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

function file(content: string): string {
  const path = join(folder, `file-${++files}.yaml`);
  writeFileSync(path, content);
  return path;
}

/** A port of loopback that nothing listens on. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

function kubeconfigFor(server: string): string {
  return file(`apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "${server}"}}]
users: [{name: test, user: {token: secret-token}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
`);
}

/** Each test starts processes, on a machine that may be busy with other tests. */
const SLOW = { timeout: 120_000 };

const STACK = /^\s+at /m;

describe("reprise", SLOW, () => {
  it("prints its version", async () => {
    const expected = { code: 0, stdout: `reprise ${VERSION} (Node.js ${process.versions.node})\n`, stderr: "" };
    expect(await reprise(["version"])).toEqual(expected);
    expect(await reprise(["--version"])).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: "" });
  });

  it("shows help under the name it was called by", async () => {
    expect((await reprise(["--help"])).stdout).toMatch(/^Usage: reprise \[options\]/);
    expect((await reprise(["--help"], { script: "kubectl-reprise" })).stdout).toMatch(
      /^Usage: kubectl reprise \[options\]/,
    );
  });

  it.each(["20.19.5", "22.18.0"])("refuses to run on Node %s with one sentence", async (version) => {
    const versions = `{ ...process.versions, node: "${version}" }`;
    const before = `Object.defineProperty(process, "versions", { value: ${versions} });`;
    const problem = `reprise requires Node.js 22.19 or newer, this is ${version}`;
    expect(await reprise(["version"], { before })).toEqual({
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
  ])("answers the mistyped %j in one line", async (args, line) => {
    expect(await reprise(args)).toEqual({ code: 1, stdout: "", stderr: `reprise: ${line}\n` });
  });

  it("without a command shows the help and fails", async () => {
    const { code, stdout, stderr } = await reprise([]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^Usage: [\s\S]*\nreprise: no command given; use one of the commands above\n$/);
  });
});

describe("reprise config check", SLOW, () => {
  it("accepts a valid file", async () => {
    const path = file("injection:\n  restartExitCode: 90\n");
    expect(await reprise(["config", "check", "--config", path])).toEqual({
      code: 0,
      stdout: `${path} is valid\n`,
      stderr: "",
    });
  });

  it("lists a wrong type and an unknown key in one line each", async () => {
    const path = file("loglevel: debug\nwebhook:\n  port: https\n");
    const { code, stdout, stderr } = await reprise(["--config", path, "config", "check"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.trimEnd().split("\n").sort()).toEqual([
      `reprise: ${path}:1: loglevel is not a known setting; did you mean "logLevel"?`,
      `reprise: ${path}:3: webhook.port: expected a whole number from 1 to 65535, found "https"; ` +
        'for example "port: 9443"',
    ]);
  });

  it("names a file that is not there", async () => {
    const path = join(folder, "nowhere.yaml");
    const problem = `cannot read config file ${path}: ENOENT: no such file or directory, open '${path}'`;
    expect(await reprise(["config", "check", "--config", path])).toEqual({
      code: 1,
      stdout: "",
      stderr: `reprise: ${problem}; pass a readable file with --config FILE, or omit it to use the defaults\n`,
    });
  });
});

describe("reprise version --server", SLOW, () => {
  it("reports a broken kubeconfig in one line", async () => {
    const path = file("clusters: [\n");
    const { code, stderr } = await reprise(["version", "--server", "--kubeconfig", path]);
    expect(code).toBe(1);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toMatch(
      /^reprise: kubeconfig \S+ cannot be read: not valid YAML: .+; pass --kubeconfig FILE, or set /,
    );
  });

  it("reports an API server that cannot be reached in one line, without a stack and without the token", async () => {
    const server = `https://127.0.0.1:${await closedPort()}`;
    const { code, stderr } = await reprise(["version", "--server", "--kubeconfig", kubeconfigFor(server)]);
    expect(code).toBe(1);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toContain(`reprise: cannot reach API server ${server}: connect ECONNREFUSED`);
    expect(stderr).toContain(
      "; check that it is running, and that clusters[].cluster.server in the kubeconfig is its address",
    );
    expect(stderr).not.toMatch(STACK);
    expect(stderr).not.toContain("secret-token");
  });

  it("adds the stack and its causes with --log-level debug", async () => {
    const server = `https://127.0.0.1:${await closedPort()}`;
    const kubeconfig = kubeconfigFor(server);
    const { code, stderr } = await reprise(["version", "--server", "--kubeconfig", kubeconfig, "--log-level", "debug"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^reprise: cannot reach API server /);
    expect(stderr).toMatch(STACK);
    expect(stderr).toContain("caused by:");
  });

  it("reports a context that the kubeconfig does not have", async () => {
    const kubeconfig = kubeconfigFor("https://127.0.0.1:1");
    const { code, stderr } = await reprise(["version", "--server", "--kubeconfig", kubeconfig, "--context", "prod"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/refers to "prod", which is not in the file; use one of: test\n$/);
  });
});

describe("an unexpected error", SLOW, () => {
  const before = `process.stdout.write = () => { throw new TypeError("out of\\n paper"); };`;

  it("is one line that says how to learn more", async () => {
    expect(await reprise(["version"], { before })).toEqual({
      code: 1,
      stdout: "",
      stderr: "reprise: unexpected error: out of paper; run again with --log-level debug for details\n",
    });
  });

  it("has its stack with --log-level debug", async () => {
    expect((await reprise(["version", "--log-level", "debug"], { before })).stderr).toMatch(STACK);
  });

  it("is reported the same way when it happens outside the command", async () => {
    const ready = `process.listenerCount("uncaughtException") > 0`;
    const later = `setInterval(() => { if (${ready}) throw new Error("late"); }, 10);`;
    const { code, stderr } = await reprise(["version"], { before: later });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "reprise: unexpected error: late; run again with --log-level debug for details\n",
    });
  });
});
