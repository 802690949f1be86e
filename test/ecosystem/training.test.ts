// The training jobs of examples/ on real kubelets, with a real DNS: ranks find each other by the names of JobSet's
// headless Service, and continue from the last checkpoint after each failure.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { asList, asMap } from "../../src/json/fields.ts";
import { ensureBinaries } from "../cluster/binaries.ts";
import { waitFor } from "../cluster/proc.ts";
import { silentProgress, terminalProgress } from "../cluster/progress.ts";
import { type GroupState, kill, podAt, TrainingGroup, uids } from "../e2e/group.ts";
import { spread } from "../e2e/placement.ts";
import { type Installation, install, UNDETERRED } from "../e2e/reprise.ts";
import { SharedFolder } from "../e2e/shared-folder.ts";
import { FRAMEWORKS, type Framework, trainingArchive, trainingImage } from "../image/training.ts";
import { changePodSpecs, RANKS, readExample, SAVE_EVERY, type Step, stepsIn } from "./training-example.ts";

// A test waits many times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 1_200_000 });

/** Importing a framework four times takes long on a busy machine with two cores. */
const STEP_LIMIT_MS = 120_000;

let installation: Installation;

beforeAll(async () => {
  const progress = terminalProgress();
  await ensureBinaries(["coredns"], progress);
  for (const framework of FRAMEWORKS) await trainingArchive(framework, progress);
  installation = await install({ parts: ["jobset", "dns"] }, UNDETERRED);
});

afterAll(async () => {
  await installation?.end();
});

/** The nodes have one image at a time: each takes a gigabyte of memory. */
function withImageOf(framework: Framework): void {
  beforeAll(async () => {
    const step = terminalProgress().step(`loading ${trainingImage(framework)}`);
    installation.cluster.load(await trainingArchive(framework, silentProgress));
    step.done();
  });
  afterAll(() => {
    installation.cluster.unload(trainingImage(framework));
  });
}

interface Run {
  readonly group: TrainingGroup;
  readonly storage: SharedFolder;
}

/** Starts the example as a user applies it. `command` replaces that of its container. */
async function startExample(framework: Framework, folder: string, command?: readonly string[]): Promise<Run> {
  const { cluster, kubectl, namespace } = installation;
  const storage = new SharedFolder(cluster, folder);
  const { name, program, spec } = await readExample(kubectl, framework, storage);
  await kubectl(["apply", "-n", namespace, "-f", "-"], { input: JSON.stringify(program) });
  const placed = changePodSpecs(spec, (podSpec) => ({
    ...podSpec,
    ...spread(name),
    containers: asList(podSpec["containers"]).map((container) => ({
      ...asMap(container),
      ...(command === undefined ? {} : { command }),
    })),
  }));
  const group = await TrainingGroup.start(installation, name, { stages: { workers: RANKS }, spec: placed });
  return { group, storage };
}

/** Waits until a run that began after this one has made its first step. */
async function nextRun(storage: SharedFolder, after: number): Promise<Step> {
  return await waitFor("a new run makes its first step", STEP_LIMIT_MS, () =>
    stepsIn(storage).find(({ started }) => started > after),
  );
}

async function trainedUntil(storage: SharedFolder, wanted: number): Promise<Step> {
  return await waitFor(`step ${wanted} is made`, STEP_LIMIT_MS, () =>
    stepsIn(storage).findLast(({ step }) => step >= wanted),
  );
}

/** Kills one rank after another, each in the middle of training, and expects the right step after each. */
async function survives(kills: number, { group, storage }: Run, first: GroupState): Promise<GroupState> {
  let state = first;
  let run = await nextRun(storage, 0);
  expect(run.step).toBe(1);
  for (let failure = 0; failure < kills; failure += 1) {
    // Past a checkpoint, at another distance from it each time.
    await trainedUntil(storage, run.step + SAVE_EVERY + 1 + (failure % SAVE_EVERY));
    kill(podAt(state, failure % RANKS).worker);
    const next = await nextRun(storage, run.started);
    const { started } = run;
    const last = stepsIn(storage).findLast((each) => each.started === started)?.step ?? 0;
    // The step after the last checkpoint. Rank 0 may have saved the step that it had no time to report.
    const saved = [last, last + 1].map((step) => step - (step % SAVE_EVERY));
    expect(saved, `failure ${failure + 1}: the last step was ${last}`).toContain(next.step - 1);
    state = await group.restarted(state.syncedEpoch + 1);
    run = next;
  }
  return state;
}

/** The loss falls with every step, and a step that was made again has the loss it had before. */
function expectFallingLoss(storage: SharedFolder): void {
  const losses = new Map<number, number>();
  for (const { step, loss } of stepsIn(storage)) {
    const before = losses.get(step);
    if (before !== undefined) expect(loss / before, `step ${step}, made again`).toBeCloseTo(1, 4);
    losses.set(step, loss);
  }
  const steps = [...losses].sort(([a], [b]) => a - b);
  expect(steps.map(([step]) => step)).toEqual(steps.map((_, index) => index + 1));
  const rising = steps.filter(([, loss], index) => loss >= (steps[index - 1]?.[1] ?? Number.POSITIVE_INFINITY));
  expect(rising).toEqual([]);
}

async function survivesTenKills(framework: Framework): Promise<void> {
  const run = await startExample(framework, framework);
  const first = await run.group.running();
  expect(first).toMatchObject({ syncedEpoch: 1, restarts: 0 });
  const last = await survives(10, run, first);
  expect(last).toMatchObject({ syncedEpoch: 11, restarts: 10 });
  expect(uids(last)).toEqual(uids(first));
  expectFallingLoss(run.storage);
  await run.group.delete();
  await run.group.gone();
}

describe("PyTorch, four ranks on two nodes", () => {
  withImageOf("pytorch");

  test("ten kills in a row: each time the ranks continue after the last checkpoint, in the same Pods", async () => {
    await survivesTenKills("pytorch");
  });

  test("the same with torchrun, three kills in a row", async () => {
    const torchrun = ["python3", "-m", "torch.distributed.run", "--nnodes=4", "--nproc-per-node=1"];
    const node = ["--node-rank=$(JOB_COMPLETION_INDEX)", "--master-addr=pytorch-workers-0-0.pytorch"];
    const command = [...torchrun, ...node, "--master-port=29500", "/program/train.py"];
    const run = await startExample("pytorch", "torchrun", command);
    const first = await run.group.running();
    const last = await survives(3, run, first);
    expect(last).toMatchObject({ syncedEpoch: 4, restarts: 3 });
    expectFallingLoss(run.storage);
    await run.group.delete();
    await run.group.gone();
  });
});

/** Asks for the names of all ranks once, and ends if it does not find one. */
const ASKS_ONCE = [
  "import signal, socket",
  `for rank in range(${RANKS}): socket.getaddrinfo(f'names-workers-0-{rank}.names', None)`,
  "signal.signal(signal.SIGTERM, lambda *_: exit(143))",
  "signal.pause()",
].join("\n");

describe("JAX, four ranks on two nodes", () => {
  withImageOf("jax");

  test("ten kills in a row: each time the ranks continue after the last checkpoint, in the same Pods", async () => {
    await survivesTenKills("jax");
  });

  // Not of JAX, but a Python that runs here.
  async function startGroup(): Promise<TrainingGroup> {
    const containers = [{ name: "trainer", image: trainingImage("jax"), command: ["python3", "-c", ASKS_ONCE] }];
    const podSpec = { workers: { ...spread("names"), containers } };
    return await TrainingGroup.start(installation, "names", { stages: { workers: RANKS }, podSpec });
  }

  /** A worker that finds no name ends at once, and with it the epoch. */
  async function expectNamesFound(group: TrainingGroup, what: string): Promise<void> {
    await waitFor("every worker has asked", STEP_LIMIT_MS, async () => {
      const state = await group.state();
      return state?.pods.every(({ worker }) => worker.running && Date.now() - worker.startedAt > ASKED_MS);
    });
    expect(await group.state(), what).toMatchObject({ syncedEpoch: 1, restarts: 0, history: [] });
  }

  test("a program that asks for all names once finds them in five first starts, without a restart", async () => {
    for (let start = 1; start <= 5; start += 1) {
      const group = await startGroup();
      await group.running();
      await expectNamesFound(group, `start ${start}`);
      await group.delete();
      await group.gone();
    }
  });

  test("such a program finds them if a kubelet reports the addresses of its Pods late", async () => {
    const { kubectl } = installation;
    const input = JSON.stringify(muteKubelet("node-2"));
    await kubectl(["apply", "-f", "-"], { input });
    // The API server reads its policies once a second.
    await sleep(POLICY_MS);
    const group = await startGroup();
    const waiting = await group.reached("waits at the barrier", ({ pods }) => {
      return pods.length === RANKS && pods.every(({ epoch }) => epoch === 1);
    });
    expect(waiting.pods.map(({ node, address }) => [node, address !== ""]).sort()).toEqual([
      ["node-1", true],
      ["node-1", true],
      ["node-2", false],
      ["node-2", false],
    ]);
    await sleep(ASKED_MS);
    expect(await group.state()).toMatchObject({ syncedEpoch: 0, deprecatedEpoch: 0 });
    await kubectl(["delete", "-f", "-"], { input });
    await group.running();
    await expectNamesFound(group, "a late kubelet");
    await group.delete();
    await group.gone();
  });
});

/** How long a Python program takes at most to start and to ask for a few names. */
const ASKED_MS = 3_000;
const POLICY_MS = 3_000;

/** Refuses the status of every Pod that this node reports, as an overloaded API server does. */
function muteKubelet(node: string): object {
  const metadata = { name: `mute-${node}` };
  const apiVersion = "admissionregistration.k8s.io/v1";
  const resourceRules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods/status"], operations: ["UPDATE"] }];
  const user = `request.userInfo.username == "system:node:${node}" && object.metadata.namespace == "training"`;
  return {
    apiVersion: "v1",
    kind: "List",
    items: [
      {
        apiVersion,
        kind: "ValidatingAdmissionPolicy",
        metadata,
        spec: {
          matchConstraints: { resourceRules },
          matchConditions: [{ name: "kubelet", expression: user }],
          validations: [{ expression: "false", message: "muted by a test" }],
        },
      },
      {
        apiVersion,
        kind: "ValidatingAdmissionPolicyBinding",
        metadata,
        spec: { policyName: metadata.name, validationActions: ["Deny"] },
      },
    ],
  };
}
