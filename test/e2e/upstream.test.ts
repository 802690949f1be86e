// JobSet's own alpha of in-place restart: JobSet's controller counts the attempts, and an agent follows. It is the
// injected one, or upstream's own in JobSets that bring it.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { LABEL, MAX_INT32 } from "../../src/api/names.ts";
import { ensureBinaries } from "../cluster/binaries.ts";
import { programArchive } from "../cluster/parts/images.ts";
import { waitFor } from "../cluster/proc.ts";
import { silentProgress } from "../cluster/progress.ts";
import { type GroupShape, kill, type PodState, podAt, scripted, TrainingGroup, uids } from "./group.ts";
import { type Installation, install } from "./reprise.ts";
import { REST, script } from "./scripts.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 300_000 });

const UPSTREAM = {
  agent: "in-place-restart-agent",
  image: "local/in-place-restart-agent-with-shell:1",
  account: "jobset-in-place-restart",
} as const;

let installation: Installation;

beforeAll(async () => {
  installation = await install({ upstreamInPlace: true });
  const binaries = await ensureBinaries(["jobset"], silentProgress);
  // In main-container mode the agent starts the worker with a shell of its image.
  const archive = programArchive(binaries, "jobset", UPSTREAM.agent, `docker.io/${UPSTREAM.image}`, { shell: true });
  installation.cluster.load(archive);
  await grantUpstreamRights();
});

afterAll(async () => {
  await installation?.end();
});

async function attempted(group: TrainingGroup, attempt: number): Promise<readonly PodState[]> {
  return await waitFor(`${group.name} runs in attempt ${attempt}`, 90_000, async () => {
    const [{ currentInPlaceRestartAttempt }, pods] = await Promise.all([group.rawStatus(), group.pods()]);
    const isThere = pods.length === 3 && pods.every((pod) => pod.attempt === attempt);
    // The kubelet's status lags. A worker of this attempt has restarted as often.
    const isRunning = pods.every(({ worker }) => worker.running && worker.restarts === attempt);
    return currentInPlaceRestartAttempt === attempt && isThere && isRunning ? pods : undefined;
  });
}

describe.concurrent("with the feature gate InPlaceRestart of JobSet", () => {
  test("restartStrategy InPlaceRestart: JobSet's controller restarts the group in place", async () => {
    const group = await TrainingGroup.start(installation, "upstream", {
      stages: { leaders: 1, followers: 2 },
      failurePolicy: { restartStrategy: "InPlaceRestart" },
    });
    const before = await attempted(group, 0);
    kill(...before.slice(0, 1).map(({ worker }) => worker));
    const again = await attempted(group, 1);
    kill(...again.slice(1).map(({ agent }) => agent));
    const after = await attempted(group, 2);
    expect(after.map(({ uid }) => uid)).toEqual(before.map(({ uid }) => uid));
    const { arrived, lastArrival, firstStart } = await group.startOf(after);
    expect(arrived).toEqual([2, 2, 2]);
    expect(firstStart).toBeGreaterThan(lastArrival);
    expect(await group.rawStatus()).toMatchObject({ previousInPlaceRestartAttempt: 1 });
    // reprise's controller leaves the group alone.
    expect(await group.state()).toBeUndefined();
    await group.delete();
  });

  test("reprise restarts every other JobSet, as without the feature", async () => {
    const group = await TrainingGroup.start(installation, "ours", { stages: { workers: 2 } });
    const before = await group.running();
    kill(...before.pods.slice(0, 1).map(({ worker }) => worker));
    expect(await group.restarted(before.syncedEpoch + 1)).toMatchObject({ restarts: 1 });
    await group.delete();
  });
});

// As in the examples of JobSet's site.
describe.concurrent("a JobSet that brings upstream's agent, in a labeled namespace", () => {
  const onFailure = (action: string) => ({
    restartPolicy: "Never",
    restartPolicyRules: [{ action, exitCodes: { operator: "NotIn", values: [0] } }],
  });
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  const agent = {
    name: UPSTREAM.agent,
    image: UPSTREAM.image,
    env: [
      field("JOBSET_NAME", "metadata.annotations['jobset.sigs.k8s.io/jobset-name']"),
      field("POD_NAME", "metadata.name"),
    ],
  };
  const command = script(REST);
  const mainContainer = {
    ...agent,
    ...onFailure("Restart"),
    env: [...agent.env, { name: "WORKER_COMMAND", value: command }, { name: "SHELL", value: "/bin/sh" }],
  };
  const sidecar = {
    ...agent,
    ...onFailure("RestartAllContainers"),
    restartPolicy: "Always",
    startupProbe: { httpGet: { path: "/barrier-is-down", port: 8081 }, failureThreshold: 600, periodSeconds: 1 },
  };

  test.each([
    ["main-container", UPSTREAM.agent, { containers: [mainContainer] }],
    [
      "sidecar",
      "trainer",
      { initContainers: [sidecar], containers: [{ ...scripted(command), ...onFailure("RestartAllContainers") }] },
    ],
  ])("in %s mode is left alone, and restarts in place as upstream meant it", async (mode, worker, podSpec) => {
    const shape: GroupShape = {
      stages: { workers: 2 },
      maxRestarts: 3,
      failurePolicy: { restartStrategy: "InPlaceRestart" },
      stage: { workers: { replicas: 2 } },
      job: { workers: { backoffLimit: MAX_INT32, podReplacementPolicy: "Failed" } },
      podSpec: { workers: { ...podSpec, serviceAccountName: UPSTREAM.account } },
    };
    const group = await TrainingGroup.start(installation, `own-${mode}`, shape);
    const before = await attemptedAlone(group, worker, 0);
    expect((await group.jobSet()).labels[LABEL.injected]).toBeUndefined();
    for (const { containers } of before) {
      expect(Object.keys(containers)).toEqual([...new Set([UPSTREAM.agent, worker])]);
    }
    expect(await skipped("has-its-own-agent")).toBeGreaterThan(0);
    const { containers } = podAt({ pods: before }, 0);
    kill({ id: containers[worker]?.id ?? "" });
    const after = await attemptedAlone(group, worker, 1);
    expect(uids({ pods: after })).toEqual(uids({ pods: before }));
    expect(await group.jobSet()).toMatchObject({ restarts: 0, outcome: "none" });
    expect(await group.state()).toBeUndefined();
    await group.delete();
  });

  async function attemptedAlone(group: TrainingGroup, worker: string, attempt: number): Promise<readonly PodState[]> {
    return await waitFor(`${group.name} runs in attempt ${attempt}`, 90_000, async () => {
      const [{ currentInPlaceRestartAttempt }, pods] = await Promise.all([group.rawStatus(), group.plainPods()]);
      const isThere = pods.length === 4 && pods.every((pod) => pod.attempt === attempt);
      const isRunning = pods.every(({ containers }) => {
        const { running = false, restarts = 0 } = containers[worker] ?? {};
        return running && restarts === attempt;
      });
      return currentInPlaceRestartAttempt === attempt && isThere && isRunning ? pods : undefined;
    });
  }

  /** How many JobSets the webhook has left alone for this reason. */
  async function skipped(reason: string): Promise<number> {
    const metrics = await (await fetch(`${installation.reprise.webhook.healthUrl}/metrics`)).text();
    const line = new RegExp(
      `^reprise_webhook_requests_total\\{webhook="mutate",operation="CREATE",.*reason="${reason}"\\} (\\d+)$`,
      "m",
    );
    return Number(line.exec(metrics)?.[1] ?? 0);
  }
});

/** The account of the examples, with the rights that upstream's agent needs. */
async function grantUpstreamRights(): Promise<void> {
  const { kubectl, namespace } = installation;
  const create = (kind: string, name: string, ...args: readonly string[]) =>
    kubectl(["create", kind, name, "-n", namespace, ...args]);
  await create("serviceaccount", UPSTREAM.account);
  for (const [role, ...rules] of [
    ["upstream-writer", "--verb=patch", "--resource=pods"],
    ["upstream-reader", "--verb=get,list,watch", "--resource=jobsets.jobset.x-k8s.io"],
  ] as const) {
    await create("role", role, ...rules);
    await create("rolebinding", role, `--role=${role}`, `--serviceaccount=${namespace}:${UPSTREAM.account}`);
  }
}
