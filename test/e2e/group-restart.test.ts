// KEP-467 end to end on real kubelets: when a worker dies, the whole group restarts once, in place, without a new Pod.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { AGENT, JOBSET, LABEL } from "../../src/api/names.ts";
import { asList, asMap, asText } from "../../src/json/fields.ts";
import { KubeClient, MERGE_PATCH } from "../../src/kube/client.ts";
import { Random } from "../../src/simulate/random.ts";
import { waitFor } from "../cluster/proc.ts";
import { tokenConfig } from "../reprise-programs.ts";
import { type Container, type GroupState, kill, type PodState, podAt, TrainingGroup, uids } from "./group.ts";
import { containerOf, ownProcesses } from "./own-processes.ts";
import { type Installation, install, UNDETERRED } from "./reprise.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 300_000 });

let installation: Installation;

beforeAll(async () => {
  installation = await install({}, UNDETERRED);
});

afterAll(async () => {
  await installation?.end();
});

/** A restart shows within a second of its cause, so an extra one would be visible by then. */
const AFTERMATH_MS = 5_000;

/** Expects this many restarts since the first start, all of them counted, and none that follows. */
async function expectRestarts(group: TrainingGroup, first: GroupState, restarts: number): Promise<void> {
  await sleep(AFTERMATH_MS);
  const last = await group.running();
  expect(last).toMatchObject({ syncedEpoch: first.syncedEpoch + restarts, restarts });
  expect(last.history.map(({ counted }) => counted)).toEqual(Array.from({ length: restarts }, () => true));
  expect(last.pods.map(({ worker }) => worker.restarts)).toEqual(first.pods.map(() => restarts));
  expect(uids(last)).toEqual(uids(first));
}

describe("two replicatedJobs of four Pods each", () => {
  let group: TrainingGroup;
  let first: GroupState;
  let failures = 0;

  beforeAll(async () => {
    group = await TrainingGroup.start(installation, "eight", { stages: { leaders: 4, followers: 4 } });
    first = await group.running();
    return () => group.delete();
  });

  // Another worker each time, because the third failure of one worker in a row would move it.
  test.each<[string, number, (pod: PodState) => unknown]>([
    ["exits with 1", 0, (pod) => group.exitWorker(pod, 1)],
    ["exits with 137, as when it runs out of memory", 3, (pod) => group.exitWorker(pod, 137)],
    ["is killed with SIGKILL", 6, (pod) => kill(pod.worker)],
  ])("a worker %s: all eight restart once, in place, and start together", async (_, index, fail) => {
    const before = await group.running();
    await fail(podAt(before, index));
    failures += 1;
    const after = await group.restarted(before.syncedEpoch + 1);

    expect(uids(after)).toEqual(uids(before));
    expect(after.pods.map(({ worker }) => worker.restarts)).toEqual(
      before.pods.map(({ worker }) => worker.restarts + 1),
    );
    expect(after.restarts).toBe(before.restarts + 1);
    // No worker of the new epoch started before every agent had reached it.
    const { arrived, lastArrival, started, firstStart } = await group.startOf(after.pods);
    const epochs = after.pods.map(() => after.syncedEpoch);
    expect({ arrived, started }).toEqual({ arrived: epochs, started: epochs });
    expect(firstStart).toBeGreaterThan(lastArrival);
  });

  test("no restart comes late: since the start there were as many restarts as failures", async () => {
    await expectRestarts(group, first, failures);
  });
});

describe.concurrent("a small group", () => {
  test("five failures in a row cause five restarts", async () => {
    const group = await TrainingGroup.start(installation, "five", { stages: { workers: 2 } });
    const first = await group.running();
    let state = first;
    for (let failure = 1; failure <= 5; failure += 1) {
      kill(podAt(state, failure % 2).worker);
      state = await group.restarted(first.syncedEpoch + failure);
      expect(state.restarts).toBe(failure);
    }
    await expectRestarts(group, first, 5);
    await group.delete();
  });

  test("failures at the same moment cause one restart", async () => {
    const group = await TrainingGroup.start(installation, "moment", { stages: { workers: 3 } });
    const first = await group.running();
    const victims: readonly ((state: GroupState) => void)[] = [
      (state) => kill(podAt(state, 0).worker, podAt(state, 1).worker),
      (state) => kill(podAt(state, 0).agent),
      (state) => kill(podAt(state, 1).agent, podAt(state, 1).worker),
      (state) => kill(...state.pods.flatMap(({ agent, worker }) => [agent, worker])),
    ];
    let state = first;
    for (const strike of victims) {
      strike(state);
      state = await group.restarted(state.syncedEpoch + 1);
    }
    await expectRestarts(group, first, victims.length);
    await group.delete();
  });

  test.each([
    ["empty shared memory", "false", ["/tmp/kept"]],
    ["the shared memory it left, if the JobSet asks for it", "true", ["/tmp/kept", "/dev/shm/kept"]],
  ])("a restarted worker has the same Pod and volumes, a new root filesystem and %s", async (_, keep, kept) => {
    const { kubectl, namespace } = installation;
    const group = await TrainingGroup.start(installation, `at-home-${keep}`, {
      stages: { workers: 2 },
      annotations: { "reprise.dev/keep-shared-memory": keep },
      // As root, so that it can write anywhere.
      podSpec: { workers: { securityContext: { runAsUser: 0 } } },
    });
    const before = await group.running();
    const { name } = podAt(before, 0);
    const address = () => kubectl(["-n", namespace, "get", "pod", name, "-o", "jsonpath={.status.podIP}"]);
    const inWorker = (script: string) =>
      kubectl(["-n", namespace, "exec", name, "-c", "trainer", "--", "sh", "-c", script]);
    const addressBefore = await address();
    await inWorker("for file in /tmp/kept /dev/shm/kept /new; do : > $file; done");
    kill(podAt(before, 1).worker);
    await group.restarted(before.syncedEpoch + 1);
    const left = await inWorker("for file in /tmp/kept /dev/shm/kept /new; do [ ! -e $file ] || echo $file; done");
    expect(left.trim().split("\n")).toEqual(kept);
    expect(await address()).toBe(addressBefore);
    await group.delete();
  });

  test("neither the tokens in its Pods nor another account can restart it", async () => {
    const { kubectl, namespace } = installation;
    const group = await TrainingGroup.start(installation, "guarded", { stages: { workers: 2 } });
    const before = await group.running();
    const [own, other] = [podAt(before, 0), podAt(before, 1)];
    const next = String(before.syncedEpoch + 1);

    // The worker's and the agent's token, as mounted in the containers.
    const file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
    const worker = clientWith(await kubectl(["-n", namespace, "exec", own.name, "-c", "trainer", "--", "cat", file]));
    const agent = clientWith(
      readFileSync(`/proc/${ownProcesses(own.uid).agent}/root${AGENT.tokenMountPath}/token`, "utf8"),
    );
    const patchBy =
      (client: KubeClient) =>
      (pod: PodState, metadata: object, subresource = "") =>
        client.request("PATCH", `/api/v1/namespaces/${namespace}/pods/${pod.name}${subresource}`, {
          body: { metadata },
          contentType: MERGE_PATCH,
        });
    for (const patch of [worker, agent].map(patchBy)) {
      for (const subresource of ["", "/status"]) {
        await expect(patch(other, { annotations: { [JOBSET.epochAnnotation]: next } }, subresource)).rejects.toThrow(
          REFUSED,
        );
        await expect(patch(own, { annotations: { "example.com/note": "x" } }, subresource)).rejects.toThrow(REFUSED);
        await expect(patch(own, { labels: { [LABEL.injected]: null } }, subresource)).rejects.toThrow(REFUSED);
      }
      for (const forged of ["0", "-1", "1e3", "99999999999", null]) {
        await expect(patch(own, { annotations: { [JOBSET.epochAnnotation]: forged } })).rejects.toThrow(REFUSED);
      }
    }

    // A valid epoch that no agent can have reached. The admission policy cannot know that, but the controller does.
    const forged = String(before.syncedEpoch + 5);
    await patchBy(agent)(own, { annotations: { [JOBSET.epochAnnotation]: forged } });
    await Promise.all([worker.close(), agent.close()]);
    await waitFor("the Pod's Event says that its epoch does not count", 30_000, async () => {
      return (await eventsOf(own)).some(({ reason, note }) => reason === "EpochIgnored" && note.includes(forged));
    });

    // An account that can only create Pods.
    await kubectl(["-n", namespace, "create", "serviceaccount", "stranger"]);
    await kubectl(["-n", namespace, "create", "role", "stranger", "--verb=create", "--resource=pods"]);
    await kubectl([
      "-n",
      namespace,
      "create",
      "rolebinding",
      "stranger",
      "--role=stranger",
      `--serviceaccount=${namespace}:stranger`,
    ]);
    const create = (name: string, labels: Readonly<Record<string, string>>) => {
      const metadata = { name, labels, annotations: { [JOBSET.epochAnnotation]: next } };
      const spec = {
        restartPolicy: "Never",
        containers: [{ name: "trainer", image: "local/busybox:1", command: ["false"] }],
      };
      const input = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata, spec });
      return kubectl(["-n", namespace, `--as=system:serviceaccount:${namespace}:stranger`, "create", "-f", "-"], {
        input,
      });
    };
    const labels = { [JOBSET.nameKey]: group.name, [JOBSET.replicatedJobKey]: "workers" };
    await expect(create("false-member", { ...labels, [LABEL.injected]: "true" })).rejects.toThrow(REFUSED);
    await create("by-label-only", labels);

    const { syncedEpoch, deprecatedEpoch } = before;
    expect(await group.state()).toMatchObject({ syncedEpoch, deprecatedEpoch, restarts: 0, history: [] });
    // One restart for this one failure. Its epoch is past the forged one, because epochs never decrease.
    kill(own.worker);
    const after = await group.restartedSince(Number(forged));
    expect(after).toMatchObject({ restarts: 1, history: [{ counted: true }] });
    expect(uids(after)).toEqual(uids(before));
    await group.delete();
  });
});

test("a second failure at any moment of a restart: the group recovers with one or two restarts", async () => {
  const seed = Number(process.env["REPRISE_TEST_SEED"] ?? Date.now() % 2 ** 32);
  const random = new Random(seed);
  const group = await TrainingGroup.start(installation, "random", { stages: { workers: 3 }, maxRestarts: 1_000 });
  const first = await group.running();
  const beginning = Date.now();
  kill(podAt(first, 0).worker);
  let before = await group.restarted(first.syncedEpoch + 1);
  const usualMs = Date.now() - beginning;
  // One in each eighth of a restart, which is about the length of its shortest step.
  const delays = Array.from({ length: 8 }, (_, eighth) => Math.round((usualMs / 8) * (eighth + random.next())));
  console.info(
    `REPRISE_TEST_SEED=${seed}; a restart takes ${usualMs} ms; second failures after ${delays.join(", ")} ms`,
  );
  for (const delay of delays) {
    const { worker } = podAt(before, random.integer(0, 2));
    kill(worker);
    await sleep(delay);
    const second = await killAnything(group, random);
    const after = await group.runningWithout(worker, second.container);
    const records = after.history.filter(({ fromEpoch }) => fromEpoch >= before.syncedEpoch);
    const what = `seed ${seed}: ${second.what} killed ${delay} ms after a worker; history ${JSON.stringify(records)}`;
    console.info(`${second.what} killed after ${delay} ms: ${records.length} restarts`);
    expect([1, 2], what).toContain(after.restarts - before.restarts);
    expect(
      records.map(({ fromEpoch, toEpoch, counted }) => [fromEpoch, toEpoch, counted]),
      what,
    ).toEqual(records.map((_, index) => [before.syncedEpoch + index, before.syncedEpoch + index + 1, true]));
    expect([after.syncedEpoch - before.syncedEpoch, after.restarts - before.restarts], what).toEqual([
      records.length,
      records.length,
    ]);
    expect(uids(after), what).toEqual(uids(first));
    before = after;
  }
  await group.delete();
});

/** Kills a container that is running now. The API server's view of them always lags a little. */
async function killAnything(
  group: TrainingGroup,
  random: Random,
): Promise<{ readonly what: string; readonly container: Pick<Container, "id"> }> {
  return await waitFor("something runs that can be killed", 30_000, async () => {
    const pods = await group.pods();
    const victims = pods.flatMap(({ name, uid, worker }) => {
      const agent = containerOf(ownProcesses(uid).agent);
      return [
        ...(agent === "" ? [] : [{ what: `agent of ${name}`, container: { id: agent } }]),
        ...(worker.running ? [{ what: `worker of ${name}`, container: worker }] : []),
      ];
    });
    const victim = random.pick(victims);
    if (victim !== undefined) kill(victim.container);
    return victim;
  });
}

async function eventsOf({ uid }: PodState): Promise<readonly { readonly reason: string; readonly note: string }[]> {
  const { client, namespace } = installation;
  const query = { fieldSelector: `regarding.uid=${uid}` };
  const list = await client.request("GET", `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, { query });
  return asList(list["items"])
    .map(asMap)
    .map(({ reason, note }) => ({ reason: asText(reason) ?? "", note: asText(note) ?? "" }));
}

/** By an admission policy, or by RBAC. */
const REFUSED = /denied request|is forbidden|cannot patch/;

function clientWith(token: string): KubeClient {
  return new KubeClient(tokenConfig(installation.reprise.apiServer, token.trim()));
}
