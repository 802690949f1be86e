// Kubeflow Trainer on real kubelets: its controller makes the JobSets, from a runtime, and applies them again.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ANNOTATION, JOBSET } from "../../src/api/names.ts";
import { asList, asMap, asText, type Fields } from "../../src/json/fields.ts";
import { runTrainer } from "../cluster/parts/trainer.ts";
import { waitFor } from "../cluster/proc.ts";
import type { RunningProgram } from "../cluster/processes.ts";
import { kill, podAt, podOf, scripted, TrainingGroup, uids, worker } from "../e2e/group.ts";
import { type Installation, install } from "../e2e/reprise.ts";
import { countRuns, savesOnTerm, script } from "../e2e/scripts.ts";
import { SharedFolder } from "../e2e/shared-folder.ts";
import { managerHome } from "./manager-home.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 300_000 });

const NODES = 2;
/** Longer than any step of a suspension takes by itself. */
const SAVE_SECONDS = 4;

let installation: Installation;
let trainer: RunningProgram;

beforeAll(async () => {
  installation = await install();
  trainer = await runTrainer(managerHome(installation));
});

afterAll(async () => {
  await trainer?.kill();
  await installation?.end();
});

// Each test has its own TrainJob.
describe.concurrent("a TrainJob", () => {
  test("becomes an injected JobSet with the annotations of its runtime, without a budget, that recovers", async () => {
    const group = await startTrainJob("plain", [node({ containers: [worker("node")] })]);
    const before = await group.running();
    const jobSet = await group.jobSet();
    expect(jobSet.failurePolicy).toBeUndefined();
    expect(jobSet.annotations).toMatchObject({ [ANNOTATION.escalateAfter]: "7" });
    // The plain JobSet would survive six failures, by the default backoffLimit of its Job.
    expect(JSON.parse(jobSet.annotations[ANNOTATION.status] ?? "")).toMatchObject({ budget: { max: 6 } });
    kill(podAt(before, 0).worker);
    const after = await group.restarted(2);
    expect(after).toMatchObject({ restarts: 1 });
    expect(uids(after)).toEqual(uids(before));
    for (const pod of after.pods) await group.exitWorker(pod, 0, "node");
    expect((await group.ended()).outcome).toBe("Completed");
    await trainJobIs("plain", "Complete");
  });

  test("retries an initializer that fails, and starts the nodes after it", async () => {
    const fails = script(countRuns("/workspace"), "[ $RUN -gt 2 ] || exit 1");
    const group = await startTrainJob(
      "initialized",
      [initializer(fails), node({ containers: [worker("node")] }, { dependsOn: [initialized] })],
      { initializer: { dataset: { storageUri: "file:///data" } } },
    );
    const running = await group.running();
    expect(podOf(running, INITIALIZER).phase).toBe("Succeeded");
    expect(running).toMatchObject({ restarts: 2 });
    // They stay done when a node restarts.
    kill(podOf(running, "node").worker);
    const after = await group.restartedSince(running.syncedEpoch);
    expect(podOf(after, INITIALIZER)).toMatchObject({ phase: "Succeeded", uid: podOf(running, INITIALIZER).uid });
    expect(after).toMatchObject({ restarts: 3 });
    await deleteTrainJob("initialized");
  });

  test("that is suspended saves its work, and resumes without a counted restart", async () => {
    const folder = new SharedFolder(installation.cluster, "trainjob");
    const saves = folder.podSpec(scripted(savesOnTerm(SAVE_SECONDS), "node"));
    const group = await startTrainJob("paused", [node({ ...saves, terminationGracePeriodSeconds: 30 })]);
    const before = await group.running();
    await suspend("paused", true);
    await group.gone();
    expect(folder.files("saved-")).toEqual(["saved-1-0", "saved-1-1"]);
    await trainJobIs("paused", "Suspended");

    // Trainer applies a suspended JobSet again at every reconcile, by force.
    const stored = await storedJobSet("paused");
    for (let time = 1; time <= 5; time += 1) {
      const applied = await updates();
      await annotateTrainJob("paused", "example.com/touched", String(time));
      await waitFor("Trainer applies the JobSet again", 30_000, async () => (await updates()) > applied);
    }
    const again = await storedJobSet("paused");
    expect(asMap(again["metadata"])["generation"]).toBe(asMap(stored["metadata"])["generation"]);
    expect(again["spec"]).toEqual(stored["spec"]);

    await suspend("paused", false);
    const resumed = await group.running();
    expect(resumed).toMatchObject({ restarts: 0, history: [] });
    expect(resumed.syncedEpoch).toBeGreaterThan(before.syncedEpoch);
    // A running JobSet is not applied again, and a reconcile changes nothing.
    const running = await storedJobSet("paused");
    await annotateTrainJob("paused", "example.com/touched", "last");
    kill(podAt(resumed, 1).worker);
    expect(await group.restartedSince(resumed.syncedEpoch)).toMatchObject({ restarts: 1 });
    expect(asMap((await storedJobSet("paused"))["metadata"])["generation"]).toBe(
      asMap(running["metadata"])["generation"],
    );
    await deleteTrainJob("paused");
  });
});

const API = "trainer.kubeflow.org/v1alpha1";
const STEP = "trainer.kubeflow.org/trainjob-ancestor-step";
/** Trainer knows the replicatedJob and its container by this name. */
const INITIALIZER = "dataset-initializer";
const initialized = { name: INITIALIZER, status: "Complete" };

function node(podSpec: Fields, more: Fields = {}): Fields {
  return replicatedJob("node", "trainer", { volumes: [{ name: "tmp", emptyDir: {} }], ...podSpec }, more);
}

function initializer(text: string): Fields {
  const container = {
    ...scripted(text, INITIALIZER),
    volumeMounts: [{ name: "initializer", mountPath: "/workspace" }],
  };
  return replicatedJob(INITIALIZER, INITIALIZER, {
    volumes: [{ name: "initializer", emptyDir: {} }],
    containers: [container],
  });
}

function replicatedJob(name: string, step: string, podSpec: Fields, more: Fields = {}): Fields {
  const spec = { template: { spec: { terminationGracePeriodSeconds: 1, ...podSpec } } };
  return { name, ...more, template: { metadata: { labels: { [STEP]: step } }, spec } };
}

/** Creates a runtime with these replicatedJobs, and a TrainJob of it. */
async function startTrainJob(
  name: string,
  replicatedJobs: readonly Fields[],
  spec: Fields = {},
): Promise<TrainingGroup> {
  const { namespace } = installation;
  const runtime = {
    apiVersion: API,
    kind: "TrainingRuntime",
    metadata: { name, namespace },
    spec: {
      mlPolicy: { numNodes: NODES },
      template: { metadata: { annotations: { [ANNOTATION.escalateAfter]: "7" } }, spec: { replicatedJobs } },
    },
  };
  const trainJob = {
    apiVersion: API,
    kind: "TrainJob",
    metadata: { name, namespace },
    spec: { runtimeRef: { apiGroup: "trainer.kubeflow.org", kind: "TrainingRuntime", name }, ...spec },
  };
  for (const object of [runtime, trainJob])
    await installation.kubectl(["apply", "-f", "-"], { input: JSON.stringify(object) });
  const stages = replicatedJobs.map((job) => asText(job["name"]) ?? "");
  const pods = Object.fromEntries(stages.map((of) => [of, of === "node" ? NODES : 1]));
  return TrainingGroup.of(installation, name, { stages: pods });
}

const inNamespace = (...args: readonly string[]) => installation.kubectl(["-n", installation.namespace, ...args]);

async function suspend(name: string, suspended: boolean): Promise<void> {
  await inNamespace("patch", "trainjob", name, "--type=merge", "-p", JSON.stringify({ spec: { suspend: suspended } }));
}

async function annotateTrainJob(name: string, key: string, value: string): Promise<void> {
  await inNamespace("annotate", "trainjob", name, `${key}=${value}`, "--overwrite");
}

async function deleteTrainJob(name: string): Promise<void> {
  await inNamespace("delete", "trainjob", name, "--wait=false");
}

async function trainJobIs(name: string, type: string): Promise<void> {
  await waitFor(`TrainJob ${name} is ${type}`, 60_000, async () => {
    const { status } = JSON.parse(await inNamespace("get", "trainjob", name, "-o", "json")) as { status?: unknown };
    return asList(asMap(status)["conditions"]).some((each) => {
      return asMap(each)["type"] === type && asMap(each)["status"] === "True";
    });
  });
}

async function storedJobSet(name: string): Promise<Fields> {
  return asMap(JSON.parse(await inNamespace("get", JOBSET.plural, name, "-o", "json")));
}

/** How many updates of JobSets the webhook has seen that needed nothing but what was stored. */
async function updates(): Promise<number> {
  const metrics = await (await fetch(`${installation.reprise.webhook.healthUrl}/metrics`)).text();
  const counts = metrics.matchAll(/^reprise_webhook_requests_total\{webhook="mutate",operation="UPDATE",.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
