// Installs reprise as a user does: with the image on the nodes and `kubectl apply -k`.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parse, stringify } from "yaml";
import type { Cluster } from "../cluster/cluster.ts";
import { terminalProgress } from "../cluster/progress.ts";
import { imageName, repriseArchive } from "../image/reprise-image.ts";

const MANIFESTS = new URL("../../manifests/", import.meta.url).pathname;

/** Loads the image into every node under this name. */
export async function loadReprise(cluster: Cluster, name: string): Promise<void> {
  cluster.load(await repriseArchive(name, terminalProgress()));
}

/** Applies manifests/default with this image, and waits for the rollout of every Deployment. */
export async function installReprise({ kubectl }: Cluster, tag: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-install-"));
  try {
    const { replacements } = parse(readFileSync(join(MANIFESTS, "default", "kustomization.yaml"), "utf8"));
    const [newName = ""] = imageName(tag).split(`:${tag}`);
    const kustomization = {
      apiVersion: "kustomize.config.k8s.io/v1beta1",
      kind: "Kustomization",
      resources: [relative(folder, join(MANIFESTS, "default"))],
      images: [{ name: "reprise", newName, newTag: tag }],
      replacements,
    };
    writeFileSync(join(folder, "kustomization.yaml"), stringify(kustomization));
    await kubectl(["apply", "--server-side", "-k", folder]);
  } finally {
    rmSync(folder, { recursive: true });
  }
  await kubectl(["rollout", "status", "deployment", "-n", "reprise-system", "--timeout=240s"]);
}
