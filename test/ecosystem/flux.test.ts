// Flux's controllers deploy a plain JobSet from Git while it trains on real kubelets, restarts in place and is edited.
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
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
const TIMEOUT_MS = 60_000;
const FLUX = { namespace: "flux-system", name: "training" } as const;
const SHAPE: GroupShape = {
  stages: { workers: 2 },
  annotations: { "example.com/team": "a" },
  spec: { suspend: false },
};

let installation: Installation;
let git: GitServer;
let folder: string;
let kustomizeController: RunningProgram;
let group: TrainingGroup;
let artifacts: Artifacts;

beforeAll(async () => {
  const binaries = await ensureBinaries(["kustomizeController"], terminalProgress());
  folder = mkdtempSync(join(tmpdir(), "reprise-flux-"));
  installation = await install();
  git = await startGitServer(folder);
  const { kubectl } = installation;
  await kubectl(["apply", "--server-side", "-f", assetFolder("kustomizeController")]);
  await definitionsEstablished(kubectl);
  await kubectl(["create", "namespace", FLUX.namespace]);
  artifacts = await serveArtifacts();
  await kubectl(["apply", "-f", "-"], { input: stringify(SOURCE) });
  await commit(jobSetOf("train", SHAPE));
  kustomizeController = await run(binaries("kustomizeController", "kustomize-controller"));
  await kubectl(["apply", "-f", "-"], { input: stringify(kustomization()) });
  group = TrainingGroup.of(installation, "train", SHAPE);
});

afterAll(async () => {
  await kustomizeController?.kill();
  await artifacts?.stop();
  await git?.stop();
  await installation?.end();
  rmSync(folder, { recursive: true, force: true });
});

async function run(binary: string): Promise<RunningProgram> {
  const health = `127.0.0.1:${await freePort()}`;
  const program = await childRunner(folder).run("kustomize-controller", [
    "env",
    `KUBECONFIG=${installation.cluster.kubeconfig}`,
    `RUNTIME_NAMESPACE=${FLUX.namespace}`,
    `TMPDIR=${folder}`,
    binary,
    "--metrics-addr=0",
    `--health-addr=${health}`,
    "--enable-leader-election=false",
    "--feature-gates=ExternalArtifact=true",
  ]);
  await waitUntilReady(program, TIMEOUT_MS, async () => (await fetch(`http://${health}/readyz`)).ok);
  return program;
}

/** Commits these objects, and publishes the commit as Flux's API for sources of other products asks for. */
async function commit(...objects: readonly object[]): Promise<void> {
  const revision = git.commit({ "training.yaml": objects.map((object) => stringify(object)).join("---\n") });
  const archive = git.archive(revision);
  const path = `${revision}.tar.gz`;
  const artifact = {
    path,
    url: artifacts.publish(path, archive),
    revision: `main@sha1:${revision}`,
    digest: `sha256:${createHash("sha256").update(archive).digest("hex")}`,
    lastUpdateTime: new Date().toISOString(),
    size: archive.length,
  };
  const now = artifact.lastUpdateTime;
  const ready = { type: "Ready", status: "True", reason: "Succeeded", message: "stored", lastTransitionTime: now };
  await installation.kubectl([
    ...["-n", FLUX.namespace, "patch", "externalartifact", FLUX.name, "--subresource=status", "--type=merge"],
    ...["-p", JSON.stringify({ status: { artifact, conditions: [ready] } })],
  ]);
}

interface Artifacts {
  publish(path: string, archive: Buffer): string;
  stop(): Promise<void>;
}

async function serveArtifacts(): Promise<Artifacts> {
  const published = new Map<string, Buffer>();
  const port = await freePort();
  const server = createServer((request, response) => {
    const archive = published.get(request.url ?? "");
    response.statusCode = archive === undefined ? 404 : 200;
    response.end(archive);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    publish(path, archive) {
      published.set(`/${path}`, archive);
      return `http://127.0.0.1:${port}/${path}`;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const SOURCE = { apiVersion: "source.toolkit.fluxcd.io/v1", kind: "ExternalArtifact", metadata: FLUX, spec: {} };

const kustomization = (spec: object = {}) => ({
  apiVersion: "kustomize.toolkit.fluxcd.io/v1",
  kind: "Kustomization",
  metadata: FLUX,
  spec: {
    interval: "1h",
    retryInterval: "1h",
    timeout: "30s",
    path: "./",
    prune: true,
    wait: true,
    targetNamespace: installation.namespace,
    sourceRef: { kind: "ExternalArtifact", name: FLUX.name },
    ...spec,
  },
});

let requests = 0;

/** Asks Flux to reconcile now, as `flux reconcile` does, and returns what it says of Ready. */
async function reconcile(): Promise<Readonly<Record<string, unknown>>> {
  requests += 1;
  const requestedAt = String(requests);
  await installation.kubectl([
    ...["-n", FLUX.namespace, "annotate", "--overwrite", "kustomization", FLUX.name],
    `reconcile.fluxcd.io/requestedAt=${requestedAt}`,
  ]);
  await waitFor("Flux reconciles", TIMEOUT_MS, async () => {
    return (await status())["lastHandledReconcileAt"] === requestedAt;
  });
  return await ready();
}

async function status(): Promise<Readonly<Record<string, unknown>>> {
  const raw = await installation.kubectl(["-n", FLUX.namespace, "get", "kustomization", FLUX.name, "-o", "json"]);
  return asMap(asMap(JSON.parse(raw))["status"]);
}

async function ready(): Promise<Readonly<Record<string, unknown>>> {
  const conditions = asList((await status())["conditions"]).map(asMap);
  return conditions.find(({ type }) => type === "Ready") ?? {};
}

/** What Flux says it did to the JobSet at each apply: created, configured or unchanged. */
function actions(): readonly string[] {
  const log = readFileSync(kustomizeController.logFile, "utf8");
  return [...log.matchAll(/"JobSet\/training\/train":"(\w+)"/g)].map(([, action = ""]) => action);
}

const stored = () => deployedJobSet(installation.kubectl, installation.namespace, "train");

describe("Flux", () => {
  test("deploys a plain JobSet, which is injected and trains", async () => {
    await waitFor("Flux has applied the JobSet", TIMEOUT_MS, async () => (await ready())["status"] === "True");
    await group.running();
    const { labels, managers } = await stored();
    expect(labels).toMatchObject({
      "reprise.dev/injected": "true",
      "kustomize.toolkit.fluxcd.io/name": FLUX.name,
    });
    expect(managers).toContain("kustomize-controller Apply");
    expect(actions()).toEqual(["created"]);
  });

  test("finds no drift in ten reconciliations, and changes nothing", async () => {
    const before = await stored();
    for (let time = 0; time < RECONCILIATIONS; time += 1) {
      expect(await reconcile()).toMatchObject({ status: "True", reason: "ReconciliationSucceeded" });
    }
    expect(await stored()).toEqual(before);
    expect(actions()).not.toContain("configured");
  });

  test("finds no drift after a restart in place", async () => {
    const [before, running] = [await stored(), await group.running()];
    kill(...running.pods.slice(0, 1).map(({ worker }) => worker));
    const restarted = await group.restarted(running.syncedEpoch + 1);
    expect(restarted.pods.map(({ uid }) => uid)).toEqual(running.pods.map(({ uid }) => uid));
    expect(await reconcile()).toMatchObject({ status: "True" });
    expect(await stored()).toEqual(before);
    expect(actions()).not.toContain("configured");
  });

  test("undoes a drift of an annotation, and the group notices nothing", async () => {
    const [before, running] = [await stored(), await group.running()];
    const drift = ["annotate", "--overwrite", "jobset", "train", "example.com/team=b"];
    await installation.kubectl(["-n", installation.namespace, ...drift]);
    expect((await stored()).annotations).toMatchObject({ "example.com/team": "b" });
    expect(await reconcile()).toMatchObject({ status: "True" });
    expect(actions().filter((action) => action === "configured")).toHaveLength(1);
    const after = await stored();
    const { generation, spec, annotations } = before;
    expect(after).toMatchObject({ generation, spec, annotations });
    expect(await group.running()).toMatchObject({ syncedEpoch: running.syncedEpoch, restarts: running.restarts });
  });

  test("undoes a suspension by hand, and the group runs again with what was injected", async () => {
    const before = await stored();
    await group.suspend(true);
    await group.gone();
    expect(await reconcile()).toMatchObject({ status: "True" });
    await group.running();
    expect((await stored()).spec).toEqual(before.spec);
  });

  test("suspends and resumes the JobSet when Git says so", async () => {
    const before = await stored();
    await commit(jobSetOf("train", { ...SHAPE, spec: { suspend: true } }));
    await reconcile();
    await group.gone();
    await commit(jobSetOf("train", SHAPE));
    expect(await reconcile()).toMatchObject({ status: "True" });
    await group.running();
    expect((await stored()).spec).toEqual(before.spec);
  });

  test("reports JobSet's own message for a change that JobSet refuses, and the group goes on", async () => {
    const [before, running] = [await stored(), await group.running()];
    await commit(jobSetOf("train", { ...SHAPE, stages: { workers: 3 } }));
    const refused = await reconcile();
    expect(refused).toMatchObject({ status: "False" });
    expect(refused["message"]).toMatch(/field is immutable/);
    expect(await stored()).toEqual(before);
    expect(await group.running()).toMatchObject({ syncedEpoch: running.syncedEpoch });
  });

  test("with force: true it creates the JobSet again for such a change, as a new group", async () => {
    const before = await stored();
    const input = stringify(kustomization({ force: true }));
    await installation.kubectl(["apply", "-f", "-"], { input });
    await reconcile();
    const larger = TrainingGroup.of(installation, "train", { stages: { workers: 3 } });
    const running = await larger.reached("runs again with three Pods", (state) => {
      return state.jobSetUid !== before.uid && state.phase === "Running" && state.ready === "3/3";
    });
    expect(running).toMatchObject({ syncedEpoch: 1, restarts: 0 });
    expect(await reconcile()).toMatchObject({ status: "True" });
    expect((await stored()).generation).toBe(1);
  });

  test("removes the JobSet that is no longer in Git", async () => {
    await commit({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "left" } });
    await reconcile();
    await group.gone();
    expect(await installation.kubectl(["get", "jobsets,inplacerestarts", "-A", "-o", "name"])).toBe("");
  });
});
