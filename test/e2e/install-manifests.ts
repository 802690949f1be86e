// Installs reprise as a user does: with the image on the nodes and `kubectl apply -k`.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parse, stringify } from "yaml";
import type { Cluster } from "../cluster/cluster.ts";
import { terminalProgress } from "../cluster/progress.ts";
import { imageName, repriseArchive } from "../image/reprise-image.ts";

const MANIFESTS = new URL("../../manifests/", import.meta.url).pathname;

/** Loads the image with this tag into every node. */
export async function loadReprise(cluster: Cluster, tag: string): Promise<void> {
  cluster.load(await repriseArchive(tag, terminalProgress()));
}

/** Calls `use` with a kustomization of manifests/default that has the image with this tag. */
async function withKustomization<T>(tag: string, use: (folder: string) => Promise<T>): Promise<T> {
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
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Applies the manifests and waits for the rollout of every Deployment. */
export async function installReprise({ kubectl }: Cluster, tag: string): Promise<void> {
  await withKustomization(tag, (folder) => kubectl(["apply", "--server-side", "-k", folder]));
  await kubectl(["rollout", "status", "deployment", "-n", "reprise-system", "--timeout=240s"]);
}

export async function uninstallReprise({ kubectl }: Cluster, tag: string): Promise<void> {
  await withKustomization(tag, (folder) => kubectl(["delete", "-k", folder, "--timeout=300s"]));
}
