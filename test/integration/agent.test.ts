// The agent as a process against a real API server: the executable that ships, and the same source under node. Its Pod
// has no kubelet; the test plays the kubelet's probe and the controller's writes.
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { readConfig } from "../../agent/config.ts";
import { Connection } from "../../agent/connection.ts";
import { type Effects, Follower } from "../../agent/follow.ts";
import { GroupObject } from "../../agent/group-object.ts";
import { AgentProcess, httpProbe } from "../../agent/testing/agent-process.ts";
import { nativeArch } from "../../scripts/architectures.ts";
import { buildAgent } from "../../scripts/build-agent.ts";
import { AGENT_ENV, JOBSET } from "../../src/api/names.ts";
import { assetFolder, ensureBinaries } from "../cluster/binaries.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { terminalProgress } from "../cluster/progress.ts";

const RESTART_EXIT_CODE = 88;
const SIGTERM_EXIT_CODE = 143;
const ACCOUNT = "trainer";

let cluster: ControlPlane;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "reprise-agent-"));
  await ensureBinaries(["jobset"], terminalProgress());
  cluster = await startControlPlane();
  buildAgent(nativeArch(), folder);
  const jobSetCrd = join(assetFolder("jobset"), "components/crd/bases/jobset.x-k8s.io_jobsets.yaml");
  await cluster.kubectl(["apply", "--server-side", "-k", "manifests/crd"]);
  await cluster.kubectl(["apply", "--server-side", "-f", jobSetCrd]);
  // First that there are conditions at all: kubectl fails on a CRD so new that it has none.
  for (const state of ["jsonpath={.status.conditions}", "condition=Established"]) {
    await cluster.kubectl(["wait", `--for=${state}`, "--timeout=30s", "crd", "--all"]);
  }
  await cluster.kubectl(["create", "serviceaccount", ACCOUNT]);
  await cluster.kubectl(["create", "serviceaccount", "stranger"]);
  await apply(role("agent"), roleBinding("agent", ACCOUNT));
}, 600_000);

afterAll(async () => {
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What an agent may do: read one kind of object, and patch Pods. */
function role(name: string): object {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name },
    rules: [
      { apiGroups: ["reprise.dev"], resources: ["inplacerestarts"], verbs: ["get", "watch"] },
      { apiGroups: [JOBSET.group], resources: [JOBSET.plural], verbs: ["get", "watch"] },
      { apiGroups: [""], resources: ["pods"], verbs: ["patch"] },
    ],
  };
}

function roleBinding(name: string, account: string): object {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "agent" },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: "default" }],
  };
}

async function apply(...objects: object[]): Promise<void> {
  const list = { apiVersion: "v1", kind: "List", items: objects };
  await cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(list) });
}

/** One Pod of one JobSet, and the environment that injection gives its agent. */
interface Member {
  /** Of the JobSet, its Pod and its group's object. */
  readonly name: string;
  readonly jobSetUid: string;
  readonly port: number;
  readonly credentials: string;
  readonly env: Readonly<Record<string, string>>;
  readonly podUid: string;
}

let created = 0;

async function createMember(overrides: Readonly<Record<string, string | undefined>> = {}): Promise<Member> {
  const name = overrides["name"] ?? `train-${++created}`;
  const jobSetUid = overrides[AGENT_ENV.jobSetUid] ?? `00000000-0000-4000-8000-${String(created).padStart(12, "0")}`;
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      serviceAccountName: overrides["account"] ?? ACCOUNT,
      automountServiceAccountToken: false,
      containers: [{ name: "main", image: "worker" }],
    },
  };
  await cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(pod) });
  const podUid = await cluster.kubectl(["get", "pod", name, "-o", "jsonpath={.metadata.uid}"]);
  const credentials = mkdtempSync(join(folder, "credentials-"));
  copyFileSync(cluster.credentials.path("ca.crt"), join(credentials, "ca.crt"));
  const port = await freePort();
  const member = { name, jobSetUid, port, credentials, podUid };
  await renewToken(member, overrides["account"] ?? ACCOUNT);
  const { hostname, port: serverPort } = new URL(cluster.server);
  const env: Record<string, string> = {
    [AGENT_ENV.namespace]: "default",
    [AGENT_ENV.podName]: name,
    [AGENT_ENV.podUid]: podUid,
    [AGENT_ENV.jobSetName]: name,
    [AGENT_ENV.jobSetUid]: jobSetUid,
    [AGENT_ENV.replicatedJob]: "workers",
    [AGENT_ENV.restartExitCode]: String(RESTART_EXIT_CODE),
    [AGENT_ENV.protocol]: overrides[AGENT_ENV.protocol] ?? "epoch",
    [AGENT_ENV.port]: String(port),
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: serverPort,
    CREDENTIALS_FOLDER: credentials,
  };
  return { ...member, env };
}

/** Bound to the Pod, as the kubelet gets it. */
async function renewToken(member: Pick<Member, "name" | "podUid" | "credentials">, account = ACCOUNT): Promise<void> {
  const bound = [
    "--bound-object-kind=Pod",
    `--bound-object-name=${member.name}`,
    `--bound-object-uid=${member.podUid}`,
  ];
  writeFileSync(join(member.credentials, "token"), await cluster.kubectl(["create", "token", account, ...bound]));
}

async function createGroup({ name, jobSetUid }: Member, status?: object): Promise<void> {
  const object = {
    apiVersion: "reprise.dev/v1alpha1",
    kind: "InPlaceRestart",
    metadata: { name },
    spec: { jobSetUID: jobSetUid },
  };
  await cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(object) });
  if (status !== undefined) await writeStatus("ipr", name, status);
}

async function writeStatus(kind: "ipr" | "jobset", name: string, status: object): Promise<void> {
  const patch = JSON.stringify({ status: { ...(kind === "ipr" ? { phase: "Running" } : {}), ...status } });
  await cluster.kubectl(["patch", kind, name, "--subresource=status", "--type=merge", "-p", patch]);
}

async function annotation({ name }: Member, key: string = JOBSET.epochAnnotation): Promise<string | undefined> {
  const { metadata } = JSON.parse(await cluster.kubectl(["get", "pod", name, "-o", "json"]));
  return metadata.annotations?.[key];
}

function eventually(check: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 60_000, interval: 50 });
}

/** Whether the probe is still held after a moment. */
async function isHeld(probe: Promise<unknown>): Promise<boolean> {
  return await Promise.race([probe.then(() => false), sleep(300, true)]);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

const RUNTIMES = ["compiled", "node"] as const;
type Runtime = (typeof RUNTIMES)[number];

function command(runtime: Runtime, ...args: string[]): [string, ...string[]] {
  return runtime === "compiled"
    ? [join(folder, nativeArch(), "reprise-agent"), ...args]
    : [process.execPath, "--disable-warning=ExperimentalWarning", "agent/main.ts", ...args];
}

describe.concurrent.each(RUNTIMES)("the agent (%s)", (runtime) => {
  const start = ({ env }: Pick<Member, "env">) => new AgentProcess(command(runtime), env);

  it("takes its epoch, holds the probe until its group is synced, and exits to restart", async () => {
    const member = await createMember();
    await using agent = start(member);
    await eventually(() => expect(agent.said).toContain("waiting: the group's object does not exist"));
    await createGroup(member);
    await eventually(() => expect(agent.said).toContain("waiting: the group's object has no epochs yet"));
    await writeStatus("ipr", member.name, { deprecatedEpoch: 3, syncedEpoch: 4 });
    await eventually(async () => expect(await annotation(member)).toBe("5"));
    const first = httpProbe(member.port);
    expect(await isHeld(first)).toBe(true);
    await writeStatus("ipr", member.name, { syncedEpoch: 5, held: ["evaluators", "workers"] });
    expect(await isHeld(first)).toBe(true);
    await writeStatus("ipr", member.name, { held: ["evaluators"] });
    expect(await first).toBe(200);
    expect(await httpProbe(member.port)).toBe(200);
    expect(await httpProbe(member.port, "/metrics")).toBe(404);
    await writeStatus("ipr", member.name, { deprecatedEpoch: 5 });
    expect(await agent.exitCode()).toBe(RESTART_EXIT_CODE);
    expect(agent.lines.filter(({ level }) => level === "warn")).toEqual([]);
  });

  it("ignores the object of another JobSet with the same name, and its loss", async () => {
    const member = await createMember();
    await createGroup({ ...member, jobSetUid: "another" }, { deprecatedEpoch: 9, syncedEpoch: 9 });
    await using agent = start(member);
    await eventually(() => expect(agent.said).toContain("waiting: the group's object belongs to another JobSet"));
    expect(await annotation(member)).toBeUndefined();
    await cluster.kubectl(["delete", "ipr", member.name]);
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    await eventually(async () => expect(await annotation(member)).toBe("1"));
    await writeStatus("ipr", member.name, { syncedEpoch: 1 });
    expect(await httpProbe(member.port)).toBe(200);
    await cluster.kubectl(["delete", "ipr", member.name]);
    await createGroup({ ...member, jobSetUid: "another" }, { deprecatedEpoch: 9, syncedEpoch: 9 });
    await sleep(500);
    expect(agent.isRunning).toBe(true);
    expect(await httpProbe(member.port)).toBe(200);
  });

  it("answers an exec probe without a port or a file, for Pods on the network of their node", async () => {
    const member = await createMember();
    const { [AGENT_ENV.port]: _port, ...env } = member.env;
    await using early = new AgentProcess(command(runtime, "probe"), env);
    expect(await early.exitCode()).toBe(1);
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    await using agent = start({ env });
    await eventually(() => expect(agent.said).toContain("epoch published"));
    await using held = new AgentProcess(command(runtime, "probe"), env);
    expect(await isHeld(held.exitCode())).toBe(true);
    await writeStatus("ipr", member.name, { syncedEpoch: 1 });
    expect(await held.exitCode()).toBe(0);
    await using late = new AgentProcess(command(runtime, "probe"), env);
    expect(await late.exitCode()).toBe(0);
    await using orphan = new AgentProcess(command(runtime, "probe"), { ...env, [AGENT_ENV.podUid]: "another" });
    expect(await orphan.exitCode()).toBe(1);
  });

  it("waits, and says so once, for as long as it has no rights", async () => {
    const member = await createMember({ account: "stranger" });
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    await using agent = start(member);
    const troubles = () => agent.said.filter((message) => message.includes("trouble"));
    await eventually(async () => expect(troubles()).not.toHaveLength(0));
    expect(agent.lines.at(-1)?.reason).toContain("403");
    await sleep(1500); // Time for several more tries, which are not worth a word each.
    expect(troubles()).toHaveLength(1);
    await apply(roleBinding(`late-${runtime}`, "stranger"));
    await eventually(async () => expect(await annotation(member)).toBe("1"));
    await cluster.kubectl(["delete", "rolebinding", `late-${runtime}`]);
    expect(agent.said).toContain("API server answers again");
  });

  it("speaks upstream's protocol: attempts in the JobSet's own status, the first of them 0", async () => {
    const name = `upstream-${runtime}`;
    const jobSet = {
      apiVersion: `${JOBSET.group}/${JOBSET.version}`,
      kind: JOBSET.kind,
      metadata: { name },
      spec: { failurePolicy: { maxRestarts: 3, restartStrategy: "InPlaceRestart" }, replicatedJobs: [] },
    };
    await cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(jobSet) });
    const jobSetUid = await cluster.kubectl(["get", "jobset", name, "-o", "jsonpath={.metadata.uid}"]);
    const member = await createMember({ name, [AGENT_ENV.jobSetUid]: jobSetUid, [AGENT_ENV.protocol]: "jobset" });
    await using agent = start(member);
    await eventually(async () => expect(await annotation(member, JOBSET.inPlaceRestartAttemptAnnotation)).toBe("0"));
    const probe = httpProbe(member.port);
    expect(await isHeld(probe)).toBe(true);
    await writeStatus("jobset", name, { currentInPlaceRestartAttempt: 0 });
    expect(await probe).toBe(200);
    await writeStatus("jobset", name, { previousInPlaceRestartAttempt: 0 });
    expect(await agent.exitCode()).toBe(RESTART_EXIT_CODE);
  });
});

describe("the agent and the API server", () => {
  it("looks again when the history it watches from is gone", async () => {
    const member = await createMember();
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    await cluster.compactEtcd();
    const config = readConfig(member.env);
    const group = new GroupObject(new Connection(config.server, config.credentialsFolder), config);
    const overdue = async () => {
      for await (const _news of group.watch("1", 0));
    };
    await expect(overdue()).rejects.toMatchObject({ status: 410 });
    const watchedFrom: (string | undefined)[] = [];
    const slept: number[] = [];
    const barrier = Promise.withResolvers<void>();
    const effects: Effects = {
      read: () => group.read(),
      watch: (resourceVersion, random) => {
        // The first time as if this agent had been away for long.
        const from = watchedFrom.length === 0 ? "1" : resourceVersion;
        watchedFrom.push(from);
        return group.watch(from, random);
      },
      publish: (epoch) => group.publish(epoch),
      lift: barrier.resolve,
      restart: () => {
        throw new Error("not expected to restart");
      },
      sleep: async (ms) => {
        slept.push(ms);
        await new Promise(() => {}); // The test is over: the API server is gone.
      },
      now: () => performance.now(),
      random: () => 0,
    };
    new Follower(config, effects, { info: () => {}, warn: () => {} }).run().catch(() => {}); // Never settles.
    await eventually(() => expect(watchedFrom).toEqual(["1", undefined]));
    await writeStatus("ipr", member.name, { syncedEpoch: 1 });
    await barrier.promise;
    expect(slept).toEqual([]);
  });

  it.each(RUNTIMES)("ends at once on SIGTERM (%s), and not with 0", async (runtime) => {
    const member = await createMember();
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    const times: number[] = [];
    // The fastest of three: other programs share the processors.
    for (let i = 0; i < 3; i++) {
      await using agent = new AgentProcess(command(runtime), member.env);
      await eventually(() => expect(agent.said).toContain("epoch published"));
      const probe = httpProbe(member.port);
      probe.catch(() => {});
      expect(await isHeld(probe)).toBe(true);
      const began = performance.now();
      agent.signal("SIGTERM");
      expect(await agent.exitCode()).toBe(SIGTERM_EXIT_CODE);
      times.push(performance.now() - began);
      await expect(probe).rejects.toThrow();
    }
    expect(Math.min(...times)).toBeLessThan(200);
  });

  // Last, because it takes the API server away from everybody.
  it("survives an outage and a token that stopped working, with its workers running", async () => {
    const members = await Promise.all(RUNTIMES.map(() => createMember()));
    const agents = members.map(({ env }, index) => new AgentProcess(command(RUNTIMES[index] ?? "node"), env));
    await using _all = {
      [Symbol.asyncDispose]: async () => {
        for (const agent of agents) await agent[Symbol.asyncDispose]();
      },
    };
    for (const member of members) {
      await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
      await eventually(async () => expect(await annotation(member)).toBe("1"));
      await writeStatus("ipr", member.name, { syncedEpoch: 1 });
      expect(await httpProbe(member.port)).toBe(200);
    }
    await cluster.killApiServer();
    for (const member of members) writeFileSync(join(member.credentials, "token"), "expired");
    await sleep(10_000);
    for (const agent of agents) expect(agent.isRunning).toBe(true);
    await cluster.startApiServer();
    for (const agent of agents) await eventually(() => expect(agent.lines.at(-1)?.reason).toContain("401"));
    for (const member of members) {
      await renewToken(member);
      expect(await httpProbe(member.port)).toBe(200);
    }
    for (const [index, agent] of agents.entries()) {
      await eventually(() => expect(agent.said).toContain("API server answers again"));
      await writeStatus("ipr", members[index]?.name ?? "", { deprecatedEpoch: 1 });
      expect(await agent.exitCode()).toBe(RESTART_EXIT_CODE);
    }
  });
});
