// The agent's executable against a real API server. Its Pod has no kubelet: the test asks as the startup probe does and
// writes what the controller would write.
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GroupObject } from "../../agent/api/group-object.ts";
import { savedRemovalPath, socketPath } from "../../agent/barrier/agent-files.ts";
import { readConfig } from "../../agent/config.ts";
import type { Removal } from "../../agent/decide-removed.ts";
import { type Effects, Follower } from "../../agent/follow.ts";
import { RemovalCheck } from "../../agent/removal-check.ts";
import { AgentProcess, waitAtBarrier } from "../../agent/testing/agent-process.ts";
import { NodeApiClient } from "../../agent/testing/node-api-client.ts";
import { nativeArch } from "../../scripts/architectures.ts";
import { buildAgent } from "../../scripts/build-agent.ts";
import { GROUP_EPOCH } from "../../src/api/group-epoch.ts";
import {
  AGENT,
  AGENT_ENV,
  BARRIER_PATH,
  BARRIER_PORT_ENV,
  JOBSET,
  SHARED_MEMORY_ENV,
  SHM_LEFTOVER_ANNOTATION,
} from "../../src/api/names.ts";
import { agentEnv, RESTART_EXIT_CODE } from "../builders/agent-env.ts";
import { assetFolder, ensureBinaries } from "../cluster/binaries.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { terminalProgress } from "../cluster/progress.ts";
import { eventually } from "../eventually.ts";
import { freePort } from "../free-port.ts";

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
  // kubectl wait fails on a CRD that has no conditions yet.
  for (const state of ["jsonpath={.status.conditions}", "condition=Established"]) {
    await cluster.kubectl(["wait", `--for=${state}`, "--timeout=30s", "crd", "--all"]);
  }
  // Right after a CRD is created, the API server refuses watches until its cache is filled.
  const watch = "watch=true&timeoutSeconds=1&allowWatchBookmarks=true&sendInitialEvents=true";
  const path = `/apis/${GROUP_EPOCH.group}/${GROUP_EPOCH.version}/${GROUP_EPOCH.plural}`;
  const raw = `${path}?${watch}&resourceVersionMatch=NotOlderThan`;
  await eventually(async () => expect(await cluster.kubectl(["get", "--raw", raw])).toContain("BOOKMARK"));
  await cluster.kubectl(["create", "serviceaccount", ACCOUNT]);
  await cluster.kubectl(["create", "serviceaccount", "stranger"]);
  await apply(role("agent"), roleBinding("agent", ACCOUNT));
}, 600_000);

afterAll(async () => {
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** An agent's permissions: read one kind of object, and patch Pods. */
function role(name: string): object {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name },
    rules: [
      { apiGroups: ["reprise.dev"], resources: ["groupepochs"], verbs: ["watch"] },
      { apiGroups: [JOBSET.group], resources: [JOBSET.plural], verbs: ["watch"] },
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
  /** The name of the JobSet and its Pod. */
  readonly name: string;
  readonly jobSetUid: string;
  readonly credentials: string;
  readonly env: Readonly<Record<string, string>>;
  readonly podUid: string;
}

let created = 0;

async function createMember(overrides: Readonly<Record<string, string | undefined>> = {}): Promise<Member> {
  const name = overrides["name"] ?? `train-${++created}`;
  const jobSetUid = overrides["jobSetUid"] ?? `00000000-0000-4000-8000-${String(created).padStart(12, "0")}`;
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    // With a node, because a deleted Pod without one disappears at once.
    metadata: { name, finalizers: overrides["finalizer"] === undefined ? [] : [overrides["finalizer"]] },
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
  const member = { name, jobSetUid, credentials, podUid };
  await renewToken(member, overrides["account"] ?? ACCOUNT);
  const { hostname, port: serverPort } = new URL(cluster.server);
  const protocol = overrides["protocol"] === "jobset" ? "jobset" : "epoch";
  const env = {
    ...agentEnv({ podName: name, podUid, jobSetName: name, jobSetUid, protocol }),
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: serverPort,
    CREDENTIALS_FOLDER: credentials,
  };
  return { ...member, env };
}

/** A token that is bound to the Pod, like the kubelet's. */
async function renewToken(member: Pick<Member, "name" | "podUid" | "credentials">, account = ACCOUNT): Promise<void> {
  const bound = [
    "--bound-object-kind=Pod",
    `--bound-object-name=${member.name}`,
    `--bound-object-uid=${member.podUid}`,
  ];
  writeFileSync(join(member.credentials, "token"), await cluster.kubectl(["create", "token", account, ...bound]));
}

type Group = Pick<Member, "jobSetUid">;

/** Grows with every write, as the version of the InPlaceRestart does. */
let version = 0;

async function createGroup({ jobSetUid }: Group, epochs: object): Promise<void> {
  const object = {
    apiVersion: `${GROUP_EPOCH.group}/${GROUP_EPOCH.version}`,
    kind: GROUP_EPOCH.kind,
    metadata: { name: jobSetUid },
    spec: { version: ++version, ...epochs },
  };
  await cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(object) });
}

async function writeEpochs({ jobSetUid }: Group, epochs: object): Promise<void> {
  const patch = JSON.stringify({ spec: { version: ++version, ...epochs } });
  await cluster.kubectl(["patch", "groupepoch", jobSetUid, "--type=merge", "-p", patch]);
}

async function writeJobSetStatus(name: string, status: object): Promise<void> {
  const patch = JSON.stringify({ status });
  await cluster.kubectl(["patch", "jobset", name, "--subresource=status", "--type=merge", "-p", patch]);
}

async function annotation({ name }: Member, key: string = JOBSET.epochAnnotation): Promise<string | undefined> {
  const { metadata } = JSON.parse(await cluster.kubectl(["get", "pod", name, "-o", "json"]));
  return metadata.annotations?.[key];
}

/** Whether the promise is still pending after a moment. */
async function isHeld(waiting: Promise<unknown>): Promise<boolean> {
  return await Promise.race([waiting.then(() => false), sleep(300, true)]);
}

function start({ env }: Pick<Member, "env">, ...args: string[]): AgentProcess {
  return new AgentProcess([join(folder, nativeArch(), "reprise-agent"), ...args], env);
}

describe.concurrent("the agent", () => {
  it("publishes its epoch, holds the barrier until the group is synced, and exits to restart", async () => {
    const member = await createMember();
    await using agent = start(member);
    await eventually(() =>
      expect(agent.lines).toContainEqual(
        expect.objectContaining({ msg: "waiting", reason: "the group's object does not exist" }),
      ),
    );
    await createGroup(member, { deprecatedEpoch: 3, syncedEpoch: 4 });
    await eventually(async () => expect(await annotation(member)).toBe("5"));
    const first = waitAtBarrier(member.podUid);
    expect(await isHeld(first)).toBe(true);
    await writeEpochs(member, { syncedEpoch: 5, heldStages: ["evaluators", "workers"] });
    expect(await isHeld(first)).toBe(true);
    await writeEpochs(member, { heldStages: ["evaluators"] });
    await first;
    await waitAtBarrier(member.podUid);
    await writeEpochs(member, { deprecatedEpoch: 5 });
    expect(await agent.exitCode()).toBe(RESTART_EXIT_CODE);
    expect(agent.lines.filter(({ level }) => level === "warn")).toEqual([]);
  });

  it("ignores the object of an earlier JobSet with the same name, and the deletion of its own", async () => {
    const member = await createMember();
    const earlier = { jobSetUid: `${member.jobSetUid}-earlier` };
    await createGroup(earlier, { deprecatedEpoch: 9, syncedEpoch: 9 });
    await using agent = start(member);
    await eventually(() =>
      expect(agent.lines).toContainEqual(
        expect.objectContaining({ msg: "waiting", reason: "the group's object does not exist" }),
      ),
    );
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    await eventually(async () => expect(await annotation(member)).toBe("1"));
    await writeEpochs(member, { syncedEpoch: 1 });
    await waitAtBarrier(member.podUid);
    await cluster.kubectl(["delete", "groupepoch", member.jobSetUid]);
    await writeEpochs(earlier, { deprecatedEpoch: 10, syncedEpoch: 10 });
    await sleep(500);
    expect(agent.isRunning).toBe(true);
    await waitAtBarrier(member.podUid);
  });

  it("makes its probe wait until the barrier lifts, and no other Pod's probe", async () => {
    const member = await createMember();
    const { env } = member;
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    await using agent = start(member);
    await eventually(() => expect(agent.messages).toContain("epoch published"));
    await using probe = start(member, AGENT.probeCommand);
    await using orphan = start({ env: { ...env, [AGENT_ENV.podUid]: "another" } }, AGENT.probeCommand);
    expect(await isHeld(probe.exitCode())).toBe(true);
    expect(await orphan.exitCode()).toBe(1);
    await writeEpochs(member, { syncedEpoch: 1 });
    expect(await probe.exitCode()).toBe(0);
    await using late = start(member, AGENT.probeCommand);
    expect(await late.exitCode()).toBe(0);
  });

  it("stays at the barrier when its probe is killed, and answers the next one", async () => {
    const member = await createMember();
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    await using agent = start(member);
    await eventually(() => expect(agent.messages).toContain("epoch published"));
    await using probe = start(member, AGENT.probeCommand);
    expect(await isHeld(probe.exitCode())).toBe(true);
    probe.signal("SIGKILL");
    await probe.exitCode();
    const next = waitAtBarrier(member.podUid);
    expect(await isHeld(next)).toBe(true);
    await writeEpochs(member, { syncedEpoch: 1 });
    await next;
    expect(agent.isRunning).toBe(true);
  });

  it("answers at a port if it has one", async () => {
    const member = await createMember();
    const port = await freePort();
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    await using agent = start({ env: { ...member.env, [BARRIER_PORT_ENV]: String(port) } });
    await eventually(() => expect(agent.messages).toContain("epoch published"));
    const answered = fetch(`http://127.0.0.1:${port}${BARRIER_PATH}`);
    expect(await isHeld(answered)).toBe(true);
    await writeEpochs(member, { syncedEpoch: 1 });
    expect((await answered).status).toBe(200);
    expect(existsSync(socketPath(member.podUid))).toBe(false);
  });

  it("ends its probe when it ends", async () => {
    const member = await createMember();
    await using agent = start(member);
    await eventually(() => expect(agent.messages).toContain("holding the barrier"));
    await using probe = start(member, AGENT.probeCommand);
    expect(await isHeld(probe.exitCode())).toBe(true);
    agent.signal("SIGKILL");
    expect(await probe.exitCode()).toBe(1);
  });

  it("waits while it has no permissions, and logs that once", async () => {
    const member = await createMember({ account: "stranger" });
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    await using agent = start(member);
    const errors = () => agent.messages.filter((message) => message.startsWith("API server error"));
    await eventually(async () => expect(errors()).not.toHaveLength(0));
    expect(agent.lines.at(-1)?.reason).toContain("403");
    await sleep(1500); // Time for several more attempts, which must not be logged.
    expect(errors()).toHaveLength(1);
    await apply(roleBinding("late", "stranger"));
    await eventually(async () => expect(await annotation(member)).toBe("1"));
    await cluster.kubectl(["delete", "rolebinding", "late"]);
    expect(agent.messages).toContain("API server is reachable again");
  });

  it("follows JobSet's own protocol: attempts in the JobSet's status, starting at 0", async () => {
    const name = "upstream";
    const jobSet = {
      apiVersion: `${JOBSET.group}/${JOBSET.version}`,
      kind: JOBSET.kind,
      metadata: { name },
      spec: { failurePolicy: { maxRestarts: 3, restartStrategy: "InPlaceRestart" }, replicatedJobs: [] },
    };
    await cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(jobSet) });
    const jobSetUid = await cluster.kubectl(["get", "jobset", name, "-o", "jsonpath={.metadata.uid}"]);
    const member = await createMember({ name, jobSetUid, protocol: "jobset" });
    await using agent = start(member);
    await eventually(async () => expect(await annotation(member, JOBSET.inPlaceRestartAttemptAnnotation)).toBe("0"));
    const lift = waitAtBarrier(member.podUid);
    expect(await isHeld(lift)).toBe(true);
    await writeJobSetStatus(name, { currentInPlaceRestartAttempt: 0 });
    await lift;
    await writeJobSetStatus(name, { previousInPlaceRestartAttempt: 0 });
    expect(await agent.exitCode()).toBe(RESTART_EXIT_CODE);
  });
});

describe("the agent and the API server", () => {
  it("lists again when its watch gets 410 Gone", async () => {
    const member = await createMember();
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    await cluster.compactEtcd();
    const config = readConfig(member.env);
    const group = new GroupObject(new NodeApiClient(config.server, config.credentialsFolder), config);
    const overdue = async () => {
      for await (const _news of group.watch("1", 0));
    };
    await expect(overdue()).rejects.toMatchObject({ status: 410 });
    const watchedFrom: (string | undefined)[] = [];
    const slept: number[] = [];
    const barrier = Promise.withResolvers<void>();
    const effects: Effects = {
      watch: (resourceVersion, random) => {
        // The first time, act as if the agent had been away for long.
        const from = watchedFrom.length === 0 ? "1" : resourceVersion;
        watchedFrom.push(from);
        return group.watch(from, random);
      },
      publish: (epoch) => group.publish(epoch),
      lift: () => barrier.resolve(),
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
    await writeEpochs(member, { syncedEpoch: 1 });
    await barrier.promise;
    expect(slept).toEqual([]);
  });

  it("publishes with its epoch how much is left in shared memory, and takes it back when it is little", async () => {
    const member = await createMember();
    const config = readConfig(member.env);
    const group = new GroupObject(new NodeApiClient(config.server, config.credentialsFolder), config);
    for (const [epoch, bytes, left] of [
      [1, undefined, undefined],
      [2, 1_048_576, "1048576"],
      [3, 1_048_575, undefined],
      [4, 0, undefined],
    ] as const) {
      await group.publish(epoch, bytes);
      expect(await annotation(member)).toBe(String(epoch));
      expect(await annotation(member, SHM_LEFTOVER_ANNOTATION)).toBe(left);
    }
  });

  it("clears shared memory before it lifts the barrier, unless no worker of its Pod has run yet", async () => {
    const member = await createMember();
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    const memory = mkdtempSync("/dev/shm/reprise-test-");
    const started = async () => {
      await using agent = start({ env: { ...member.env, [SHARED_MEMORY_ENV]: memory } });
      await eventually(() => expect(agent.messages).toContain("epoch published"));
      return agent.messages;
    };
    try {
      writeFileSync(join(memory, "psm_1"), "left by a container");
      expect(await started()).not.toContain("cleared shared memory");
      expect(await started()).toContain("cleared shared memory");
      expect(readdirSync(memory)).toEqual([`reprise-agent-${member.podUid}.seen`]);
      expect(await started()).not.toContain("cleared shared memory");
    } finally {
      rmSync(memory, { recursive: true });
    }
  });

  it("starts its workers without a group once reprise is removed, and takes part again when it is back", async () => {
    const [waiting, running, restarted] = [await createMember(), await createMember(), await createMember()];
    await createGroup(running, { deprecatedEpoch: 0, syncedEpoch: 0 });
    await using undisturbed = start(running);
    await eventually(() => expect(undisturbed.messages).toContain("epoch published"));
    await writeEpochs(running, { syncedEpoch: 1 });
    await waitAtBarrier(running.podUid);
    await cluster.kubectl(["delete", "-k", "manifests/crd"]);
    await cluster.kubectl(["delete", "rolebinding", "agent"]);

    // Two minutes pass in two seconds: the clocks of this agent run sixty times as fast.
    const config = readConfig(waiting.env);
    const group = new GroupObject(new NodeApiClient(config.server, config.credentialsFolder), config);
    const clocks = { now: () => performance.now() * 60, random: () => 1 };
    const saved: (Removal | undefined)[] = [];
    const save = async (removal: Removal | undefined) => void saved.push(removal);
    const quiet = { info: () => {}, warn: () => {} };
    const asked = { typeState: () => group.typeState(), save, wallClock: () => clocks.now() / 1000, ...clocks };
    const barrier = Promise.withResolvers<void>();
    const effects: Effects = {
      watch: (resourceVersion, random) => group.watch(resourceVersion, random),
      publish: (epoch) => group.publish(epoch),
      lift: () => barrier.resolve(),
      restart: () => {
        throw new Error("not expected to restart");
      },
      removal: new RemovalCheck(asked, quiet),
      sleep: (ms) => sleep(ms / 60),
      ...clocks,
    };
    new Follower(config, effects, quiet).run().catch(() => {}); // Never settles.
    await barrier.promise;
    const proof = saved.at(-1);
    expect((proof?.confirmed ?? 0) - (proof?.since ?? 0)).toBeGreaterThanOrEqual(120);

    // The next agent of a Pod believes the proof of the last one as soon as it has asked itself.
    const proven = Math.floor(Date.now() / 1000);
    writeFileSync(savedRemovalPath(restarted.podUid), `${proven - 500} ${proven - 300}`);
    await using next = start(restarted);
    await eventually(() =>
      expect(next.messages).toContain("reprise was removed, starting the workers without their group"),
    );
    await waitAtBarrier(restarted.podUid);
    expect(undisturbed.isRunning).toBe(true);

    await cluster.kubectl(["apply", "--server-side", "-k", "manifests/crd"]);
    await cluster.kubectl(["wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"]);
    await apply(roleBinding("agent", ACCOUNT));
    // Back in its place, the group waits for every Pod. This one comes after at most a minute.
    await createGroup(restarted, { deprecatedEpoch: 4, syncedEpoch: 4 });
    expect(await next.exitCode()).toBe(RESTART_EXIT_CODE);
    expect(existsSync(savedRemovalPath(restarted.podUid))).toBe(false);
    await using again = start(restarted);
    await eventually(async () => expect(await annotation(restarted)).toBe("5"));
    expect(again.isRunning).toBe(true);
  });

  it("exits at once on SIGTERM, with a code other than 0", async () => {
    const member = await createMember();
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    const times: number[] = [];
    // The fastest of three, because other programs share the CPUs.
    for (let i = 0; i < 3; i++) {
      await using agent = start(member);
      await eventually(() => expect(agent.messages).toContain("epoch published"));
      const lift = waitAtBarrier(member.podUid);
      lift.catch(() => {});
      expect(await isHeld(lift)).toBe(true);
      const began = performance.now();
      agent.signal("SIGTERM");
      expect(await agent.exitCode()).toBe(SIGTERM_EXIT_CODE);
      times.push(performance.now() - began);
      await expect(lift).rejects.toThrow();
    }
    expect(Math.min(...times)).toBeLessThan(200);
  });

  // The last test, because it stops the API server.
  it("survives an API server outage and an expired token while its workers run", async () => {
    const member = await createMember();
    await using agent = start(member);
    await createGroup(member, { deprecatedEpoch: 0, syncedEpoch: 0 });
    await eventually(async () => expect(await annotation(member)).toBe("1"));
    await writeEpochs(member, { syncedEpoch: 1 });
    await waitAtBarrier(member.podUid);
    await cluster.killApiServer();
    writeFileSync(join(member.credentials, "token"), "expired");
    await eventually(() => expect(agent.messages).toContainEqual(expect.stringMatching(/^API server error/)));
    expect(agent.isRunning).toBe(true);
    await cluster.startApiServer();
    await eventually(() => expect(agent.lines.at(-1)?.reason).toContain("401"));
    await renewToken(member);
    await waitAtBarrier(member.podUid);
    await eventually(() => expect(agent.messages).toContain("API server is reachable again"));
    await writeEpochs(member, { deprecatedEpoch: 1 });
    expect(await agent.exitCode()).toBe(RESTART_EXIT_CODE);
  });
});
