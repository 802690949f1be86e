// Missing prerequisites on real API servers: the controller reports them, and the webhook does not inject what could
// not work.
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type RunningController, runController } from "../../controller/shell/run.ts";
import { LABEL } from "../../src/api/names.ts";
import { defaultConfig } from "../../src/config/config.ts";
import { asMap, asTextMap } from "../../src/json/fields.ts";
import { connect, type KubeClient } from "../../src/kube/client.ts";
import { Prerequisites } from "../../src/kube/prerequisites.ts";
import { createRegistry } from "../../src/telemetry/metrics.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import {
  applyManifests,
  buildBundle,
  createNamespace,
  registerWebhook,
  runWebhook,
  type ServedWebhook,
} from "../reprise-programs.ts";
import { JOBSET_CRD, olderJobSetDefinition } from "./older-definition.ts";

const PATIENCE = { timeout: 30_000, interval: 100 };
const log = pino({ level: "silent" });

async function lacksOf(client: KubeClient): Promise<readonly string[]> {
  const prerequisites = new Prerequisites({ client, log, webhookConfiguration: "reprise-webhook" });
  await prerequisites.start();
  prerequisites.stop();
  return prerequisites.lacks.map(({ reason }) => reason);
}

describe("a Kubernetes that behaves like 1.35", () => {
  let cluster: ControlPlane;
  let client: KubeClient;

  beforeAll(async () => {
    cluster = await startControlPlane({ apiServerFlags: ["--emulated-version=1.35"] });
    client = connect({ kubeconfig: cluster.kubeconfig });
  });

  afterAll(async () => {
    await client?.close();
    await cluster?.stop();
  });

  it("is reported as too old", async () => {
    expect(await lacksOf(client)).toContain("kubernetes-too-old");
  });
});

describe("a cluster with the newest Kubernetes", () => {
  let cluster: ControlPlane;
  let client: KubeClient;
  let controller: RunningController;
  let webhook: ServedWebhook;

  beforeAll(async () => {
    cluster = await startControlPlane();
    client = connect({ kubeconfig: cluster.kubeconfig });
    await applyManifests(cluster.kubectl);
    controller = await runController({
      client,
      identity: "it",
      leaderElection: { namespace: "reprise-system", name: "reprise-controller" },
      injection: defaultConfig.injection,
      stuckPods: defaultConfig.stuckPods,
      policy: defaultConfig.controller,
      host: "127.0.0.1",
      healthPort: 0,
      log,
      registry: createRegistry(),
    });
  });

  afterAll(async () => {
    await controller?.shutdown();
    await webhook?.program.kill();
    await client?.close();
    await cluster?.stop();
  });

  const readyz = async (): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${controller.healthPort}/readyz`);
    return `${answer.status} ${await answer.text()}`;
  };

  it("without JobSet: the controller reports it until JobSet is installed", async () => {
    expect(await lacksOf(client)).toEqual(["jobset-missing"]);
    await vi.waitFor(
      async () => expect(await readyz()).toMatch(/^503 (.*\n)*.*install JobSet 0\.10 or newer/),
      PATIENCE,
    );
  });

  it("with an older JobSet that drops fields: a JobSet stays plain, with a warning", async () => {
    await cluster.kubectl(["apply", "--server-side", "-f", "-"], { input: olderJobSetDefinition() });
    await vi.waitFor(async () => expect(await lacksOf(client)).toEqual(["jobset-prunes-fields"]), PATIENCE);
    await vi.waitFor(async () => expect(await readyz()).toMatch(/^503 .*would drop it; upgrade JobSet/), PATIENCE);

    const folder = join(cluster.folder, "webhook");
    const home = { folder, runner: cluster, address: "127.0.0.1", kubeconfig: cluster.kubeconfig };
    webhook = await runWebhook(home, await buildBundle(home));
    await registerWebhook(cluster.kubectl, webhook);
    await createNamespace(cluster.kubectl, "team");
    const answer = await dryRun();
    expect(answer.warnings).toMatch(/not injected, this JobSet will not restart in place: .* upgrade JobSet/);
    expect(answer.warnings).not.toContain("mutating webhook was not called");
    expect(answer.isInjected).toBe(false);
    const metrics = await (await fetch(`${webhook.healthUrl}/metrics`)).text();
    expect(metrics).toMatch(/outcome="skipped",reason="jobset-prunes-fields"} 1$/m);
  });

  it("with a new JobSet: webhook and controller notice it by themselves", async () => {
    await cluster.kubectl(["apply", "--server-side", "-f", JOBSET_CRD]);
    await vi.waitFor(async () => expect(await lacksOf(client)).toEqual([]), PATIENCE);
    await vi.waitFor(async () => expect(await readyz()).toBe("200 leading\n"), PATIENCE);
    await vi.waitFor(async () => expect((await dryRun()).isInjected).toBe(true), PATIENCE);
    expect((await dryRun()).warnings).not.toContain("not injected");
  });

  it("without cert-manager: a webhook configuration without CA bundle is reported", async () => {
    // As in the manifests, before cert-manager injects the CA bundle.
    await cluster.kubectl(["delete", "mutatingwebhookconfiguration", "reprise-webhook"]);
    await cluster.kubectl(["apply", "-f", "manifests/webhook/mutating.yaml"]);
    const prerequisites = new Prerequisites({ client, log, webhookConfiguration: "reprise-webhook" });
    await prerequisites.start();
    prerequisites.stop();
    expect(prerequisites.lacks).toEqual([
      { reason: "webhook-untrusted", message: expect.stringContaining("install cert-manager") },
    ]);
  });

  async function dryRun(): Promise<{ warnings: string; isInjected: boolean }> {
    const args = ["create", "-n", "team", "-f", "examples/train.yaml", "--dry-run=server", "-o", "json"];
    const said = await cluster.kubectl(args, { withWarnings: true });
    const object = said.slice(0, said.lastIndexOf("\n}") + 2);
    const labels = asTextMap(asMap(asMap(JSON.parse(object))["metadata"])["labels"]);
    return { warnings: said.slice(object.length).trim(), isInjected: labels[LABEL.injected] === "true" };
  }
});
