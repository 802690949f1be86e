// Argo CD's application controller and repo server deploy plain JobSets from Git while they train on real kubelets.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { asList, asMap } from "../../src/json/fields.ts";
import { assetFolder, ensureBinaries } from "../cluster/binaries.ts";
import { waitFor } from "../cluster/proc.ts";
import { childRunner, type RunningProgram, waitUntilReady } from "../cluster/processes.ts";
import { terminalProgress } from "../cluster/progress.ts";
import { type GroupShape, jobSetOf, kill, TrainingGroup } from "../e2e/group.ts";
import { type Installation, install } from "../e2e/reprise.ts";
import { freePort } from "../free-port.ts";
import { definitionsEstablished } from "./definitions.ts";
import { deployedJobSet } from "./deployed-jobset.ts";
import { type GitServer, startGitServer } from "./git-server.ts";

const RECONCILIATIONS = 10;
const TIMEOUT_MS = 90_000;
const NAMESPACE = "argocd";
const SHAPE: GroupShape = {
  stages: { workers: 2 },
  annotations: { "example.com/team": "a" },
  spec: { suspend: false },
};
const HEALTH_CHECKS = parse(readFileSync("examples/argocd-health.yaml", "utf8")).data as Readonly<
  Record<string, string>
>;

/** The settings that docs/gitops.md names. */
const PREDICTED = { "argocd.argoproj.io/compare-options": "ServerSideDiff=true,IncludeMutationWebhook=true" };
const IGNORED = [
  { group: "jobset.x-k8s.io", kind: "JobSet", jsonPointers: ["/spec/replicatedJobs", "/spec/failurePolicy"] },
];

interface Variant {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly syncOptions?: readonly string[];
  readonly ignoreDifferences?: readonly object[];
}

const DOCUMENTED: Readonly<Record<string, Variant>> = {
  "server-side-diff": { annotations: PREDICTED },
  "server-side-apply": { annotations: PREDICTED, syncOptions: ["ServerSideApply=true"] },
  "ignored-fields": { ignoreDifferences: IGNORED },
};

let argocd: string;

beforeAll(async () => {
  const binaries = await ensureBinaries(["argocd"], terminalProgress());
  argocd = binaries("argocd", "argocd");
});

describe("Argo CD", () => {
  let installation: Installation;
  let git: GitServer;
  let folder: string;
  const programs: RunningProgram[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "reprise-argocd-"));
    installation = await install();
    git = await startGitServer(folder);
    const { kubectl } = installation;
    await kubectl(["apply", "--server-side", "-k", assetFolder("argocd")]);
    await definitionsEstablished(kubectl);
    await kubectl(["create", "namespace", NAMESPACE]);
    await kubectl(["apply", "-f", "-"], { input: SETTINGS.map((object) => stringify(object)).join("---\n") });

    const [redis, repoServer] = [`127.0.0.1:${await freePort()}`, await freePort()];
    await run("redis", [redis]);
    const repoMetrics = await freePort();
    await run(
      "repo-server",
      [
        "--disable-tls",
        "--address=127.0.0.1",
        `--port=${repoServer}`,
        "--metrics-address=127.0.0.1",
        `--metrics-port=${repoMetrics}`,
        `--redis=${redis}`,
      ],
      `http://127.0.0.1:${repoMetrics}/metrics`,
    );
    const metrics = await freePort();
    await run(
      "application-controller",
      [
        `--kubeconfig=${installation.cluster.kubeconfig}`,
        `--namespace=${NAMESPACE}`,
        `--repo-server=127.0.0.1:${repoServer}`,
        "--repo-server-plaintext",
        `--redis=${redis}`,
        `--metrics-port=${metrics}`,
      ],
      `http://127.0.0.1:${metrics}/healthz`,
    );
  });

  afterAll(async () => {
    await Promise.all(programs.map((program) => program.kill()));
    await git?.stop();
    await installation?.end();
    rmSync(folder, { recursive: true, force: true });
  });

  async function run(role: string, flags: readonly string[], health?: string): Promise<void> {
    const temporary = join(folder, role);
    mkdirSync(temporary);
    const environment = [
      `TMPDIR=${temporary}`,
      `KUBECONFIG=${installation.cluster.kubeconfig}`,
      // The cluster that it runs in is the one of KUBECONFIG.
      "ARGOCD_FAKE_IN_CLUSTER=true",
      "ARGOCD_GPG_ENABLED=false",
      `ARGOCD_TLS_DATA_PATH=${temporary}`,
      `ARGOCD_SSH_DATA_PATH=${temporary}`,
      `ARGOCD_ASK_PASS_SOCK=${temporary}/ask-pass.sock`,
      `ARGOCD_PLUGINSOCKFILEPATH=${temporary}`,
    ];
    const program = await childRunner(folder).run(role, ["env", ...environment, argocd, role, ...flags]);
    programs.push(program);
    await waitUntilReady(program, TIMEOUT_MS, async () => health === undefined || (await fetch(health)).ok);
  }

  /** Commits the JobSet to a folder of its name, and has Argo CD deploy that folder. */
  async function deploy(name: string, variant: Variant): Promise<TrainingGroup> {
    commit(name, SHAPE);
    const { annotations = {}, syncOptions = [], ignoreDifferences = [] } = variant;
    const application = {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Application",
      metadata: { name, namespace: NAMESPACE, annotations },
      spec: {
        project: "default",
        source: { repoURL: git.url, path: name, targetRevision: "main" },
        destination: { server: "https://kubernetes.default.svc", namespace: installation.namespace },
        syncPolicy: { automated: { selfHeal: true, prune: true }, syncOptions },
        ignoreDifferences,
      },
    };
    await installation.kubectl(["apply", "-f", "-"], { input: stringify(application) });
    return TrainingGroup.of(installation, name, SHAPE);
  }

  function commit(name: string, shape: GroupShape): void {
    git.commit({ [`${name}/jobset.yaml`]: stringify(jobSetOf(name, shape)) });
  }

  async function applicationStatus(name: string): Promise<ApplicationStatus> {
    const raw = await installation.kubectl(["-n", NAMESPACE, "get", "application", name, "-o", "json"]);
    const application = JSON.parse(raw);
    const status = asMap(application.status);
    return {
      refreshing: application.metadata.annotations?.[REFRESH] !== undefined,
      sync: asMap(status["sync"])["status"],
      health: asMap(status["health"])["status"],
      syncs: asList(status["history"]).length,
      errors: asList(status["conditions"]).map((each) => `${asMap(each)["type"]}: ${asMap(each)["message"]}`),
    };
  }

  /** Compares again without any cache, as `argocd app get --hard-refresh` does. */
  async function refresh(name: string): Promise<ApplicationStatus> {
    await installation.kubectl(["-n", NAMESPACE, "annotate", "application", name, `${REFRESH}=hard`]);
    return await reached(name, "has compared", ({ refreshing }) => !refreshing);
  }

  async function reached(name: string, what: string, condition: (status: ApplicationStatus) => boolean) {
    let last: ApplicationStatus | undefined;
    try {
      return await waitFor(`the Application ${name} ${what}`, TIMEOUT_MS, async () => {
        last = await applicationStatus(name);
        return condition(last) ? last : undefined;
      });
    } catch (error) {
      throw new Error(`${name} never ${what}; last seen: ${JSON.stringify(last)}`, { cause: error });
    }
  }

  const stored = (name: string) => deployedJobSet(installation.kubectl, installation.namespace, name);

  describe.each(Object.entries(DOCUMENTED))("with the documented setting: %s", (name, variant) => {
    let group: TrainingGroup;

    test("deploys a plain JobSet, which is injected, trains, and is in sync and healthy", async () => {
      group = await deploy(name, variant);
      await group.running();
      await reached(name, "is in sync and healthy", ({ sync, health }) => sync === "Synced" && health === "Healthy");
      const { labels, annotations, managers } = await stored(name);
      expect(labels).toMatchObject({ "reprise.dev/injected": "true" });
      expect(annotations).toHaveProperty(["argocd.argoproj.io/tracking-id"]);
      const operation = variant.syncOptions === undefined ? "Update" : "Apply";
      expect(managers).toContain(`argocd-controller ${operation}`);
    });

    test("is in sync at ten hard refreshes, and nothing changes", async () => {
      const before = await stored(name);
      const { syncs } = await applicationStatus(name);
      for (let time = 0; time < RECONCILIATIONS; time += 1) {
        expect(await refresh(name)).toMatchObject({ sync: "Synced", syncs });
      }
      expect(await stored(name)).toEqual(before);
    });

    test("is in sync after a restart in place", async () => {
      const [before, running] = [await stored(name), await group.running()];
      const { syncs } = await applicationStatus(name);
      kill(...running.pods.slice(0, 1).map(({ worker }) => worker));
      await group.restarted(running.syncedEpoch + 1);
      expect(await refresh(name)).toMatchObject({ sync: "Synced", syncs });
      await reached(name, "is healthy again", ({ health }) => health === "Healthy");
      expect(await stored(name)).toEqual(before);
    });

    test("heals a drift, and the group notices nothing", async () => {
      const [before, running] = [await stored(name), await group.running()];
      const drift = ["annotate", "--overwrite", "jobset", name, "example.com/team=b"];
      await installation.kubectl(["-n", installation.namespace, ...drift]);
      await waitFor("Argo CD heals the drift", TIMEOUT_MS, async () => {
        return (await stored(name)).annotations["example.com/team"] === "a";
      });
      expect(await refresh(name)).toMatchObject({ sync: "Synced" });
      expect(await stored(name)).toMatchObject({ generation: before.generation, spec: before.spec });
      expect(await group.running()).toMatchObject({ syncedEpoch: running.syncedEpoch, restarts: running.restarts });
    });
  });

  test("suspends and resumes the JobSet when Git says so, and shows it as suspended meanwhile", async () => {
    const name = "server-side-diff";
    const group = TrainingGroup.of(installation, name, SHAPE);
    const before = await stored(name);
    commit(name, { ...SHAPE, spec: { suspend: true } });
    await refresh(name);
    await group.gone();
    await reached(name, "is suspended", ({ sync, health }) => sync === "Synced" && health === "Suspended");
    commit(name, SHAPE);
    await refresh(name);
    await group.running();
    await reached(name, "is healthy again", ({ sync, health }) => sync === "Synced" && health === "Healthy");
    expect((await stored(name)).spec).toEqual(before.spec);
  });

  test("reports JobSet's own message for a change that JobSet refuses, and the group goes on", async () => {
    const name = "server-side-apply";
    const group = TrainingGroup.of(installation, name, SHAPE);
    const [before, running] = [await stored(name), await group.running()];
    commit(name, { ...SHAPE, stages: { workers: 3 } });
    // Its diff is a dry run, which fails with the message, so nothing is applied.
    expect(await refresh(name)).toMatchObject({
      sync: "Unknown",
      errors: expect.arrayContaining([expect.stringMatching(/^ComparisonError: .*field is immutable/s)]),
    });
    expect((await stored(name)).spec).toEqual(before.spec);
    expect(await group.running()).toMatchObject({ syncedEpoch: running.syncedEpoch });
  });

  test("without a setting the Application is OutOfSync, and its attempts to heal change nothing", async () => {
    const name = "default";
    const group = await deploy(name, {});
    await group.running();
    const before = await stored(name);
    for (let time = 0; time < RECONCILIATIONS; time += 1) {
      expect(await refresh(name)).toMatchObject({ sync: "OutOfSync" });
    }
    expect(await stored(name)).toMatchObject({ generation: before.generation, spec: before.spec });
  });
});

const REFRESH = "argocd.argoproj.io/refresh";

interface ApplicationStatus {
  readonly refreshing: boolean;
  readonly sync: unknown;
  readonly health: unknown;
  /** How many operations have completed. */
  readonly syncs: number;
  readonly errors: readonly string[];
}

const PART = { "app.kubernetes.io/part-of": "argocd" };
const SETTINGS = [
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "argocd-cm", labels: PART }, data: HEALTH_CHECKS },
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "argocd-rbac-cm", labels: PART } },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "argocd-secret", labels: PART },
    stringData: { "server.secretkey": "only for tests" },
  },
  {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "AppProject",
    metadata: { name: "default" },
    spec: { sourceRepos: ["*"], destinations: [{ namespace: "*", server: "*" }] },
  },
].map((object) => ({ ...object, metadata: { ...object.metadata, namespace: NAMESPACE } }));

describe("Argo CD's Lua engine with examples/argocd-health.yaml", () => {
  /** The status and the message of each object. */
  function healthOf(...objects: readonly object[]): readonly (readonly [unknown, unknown])[] {
    const input = JSON.stringify({ data: HEALTH_CHECKS, objects });
    const { status, stdout, stderr } = spawnSync(argocd, ["health"], { input, encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    return asList(JSON.parse(stdout)).map((each) => [asMap(each)["status"], asMap(each)["message"]]);
  }

  const condition = (type: string, message = "because", status = "True") => ({ type, status, message });

  describe("of a JobSet", () => {
    const jobSet = (status?: object) => ({
      apiVersion: "jobset.x-k8s.io/v1alpha2",
      kind: "JobSet",
      metadata: { name: "train" },
      spec: { replicatedJobs: [{ name: "leader" }, { name: "workers", replicas: 3 }] },
      ...(status === undefined ? {} : { status }),
    });
    const jobs = (leader: object, workers: object) => ({
      replicatedJobsStatus: [
        { name: "leader", ...leader },
        { name: "workers", ...workers },
      ],
    });

    test.each([
      ["that is new", undefined, "Progressing", "0 of 4 Jobs are ready"],
      ["that starts", jobs({ ready: 1 }, { ready: 2, succeeded: 0 }), "Progressing", "3 of 4 Jobs are ready"],
      ["that runs", jobs({ ready: 1 }, { ready: 3, succeeded: 0 }), "Healthy", "4 of 4 Jobs are ready"],
      ["with a Job that is done", jobs({ succeeded: 1 }, { ready: 3 }), "Healthy", "4 of 4 Jobs are ready"],
      ["that is suspended", { conditions: [condition("Suspended")] }, "Suspended", "because"],
      [
        "that was resumed",
        { conditions: [condition("Suspended", "", "False")], ...jobs({ ready: 1 }, {}) },
        "Progressing",
        "1 of 4 Jobs are ready",
      ],
      ["that has failed", { conditions: [condition("Failed")] }, "Degraded", "because"],
      ["that is complete", { conditions: [condition("Completed")] }, "Healthy", "because"],
    ])("%s", (_, status, health, message) => {
      expect(healthOf(jobSet(status))).toEqual([[health, message]]);
    });
  });

  describe("of an InPlaceRestart", () => {
    const object = (status?: object) => ({
      apiVersion: "reprise.dev/v1alpha1",
      kind: "InPlaceRestart",
      metadata: { name: "train" },
      ...(status === undefined ? {} : { status }),
    });
    const ready = condition("Ready", "2 of 4 Pods are ready", "False");

    test.each([
      ["that is new", undefined, "Progressing", "no Pod is ready"],
      ["that starts", { phase: "Starting", conditions: [ready] }, "Progressing", ready.message],
      ["that restarts", { phase: "Restarting", conditions: [ready] }, "Progressing", ready.message],
      ["that runs", { phase: "Running", conditions: [condition("Ready", "all run")] }, "Healthy", "all run"],
      [
        "that is suspended",
        { phase: "Starting", conditions: [ready], availability: { state: "Suspended" } },
        "Suspended",
        ready.message,
      ],
      [
        "that is stalled",
        { phase: "Restarting", conditions: [ready, condition("Stalled", "1 Pod is missing")] },
        "Degraded",
        "1 Pod is missing",
      ],
      [
        "whose Pod does not terminate",
        { phase: "Restarting", conditions: [condition("WaitingForTermination", "node lost"), ready] },
        "Degraded",
        "node lost",
      ],
      ["that has failed", { phase: "Failed", conditions: [ready] }, "Degraded", ready.message],
      ["that is complete", { phase: "Completed", conditions: [condition("Ready", "done")] }, "Healthy", "done"],
    ])("%s", (_, status, health, message) => {
      expect(healthOf(object(status))).toEqual([[health, message]]);
    });
  });
});
