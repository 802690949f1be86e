// The bundled CLI against a real API server.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleCli } from "../../scripts/bundle.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";

const run = promisify(execFile);
let cluster: ControlPlane;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "reprise-cli-"));
  [cluster] = await Promise.all([startControlPlane(), bundleCli(folder)]);
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await cluster?.stop();
});

describe("reprise version --server", () => {
  it("prints the version and address of the cluster in the kubeconfig, and exits", async () => {
    const args = [join(folder, "reprise.js"), "version", "--server", "--kubeconfig", cluster.kubeconfig];
    const { stdout, stderr } = await run(process.execPath, args);
    const { serverVersion } = JSON.parse(await cluster.kubectl(["version", "-o", "json"]));
    expect(stdout.split("\n")[1]).toBe(`Kubernetes ${serverVersion.gitVersion} at ${cluster.server}`);
    expect(stderr).toBe("");
  });
});
