// The kubectl plugin `kubectl reprise` for krew: one archive for all platforms, because the bundle needs Node.js and
// nothing else, and the manifest that names it.
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { stringify } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { VERSION } from "../../src/api/version.ts";
import { run } from "../../test/cluster/run.ts";
import { bundleCli } from "../bundle.ts";

/** krew looks for the manifest of a plugin under the plugin's name. */
export const MANIFEST = "reprise.yaml";
const ARCHIVE = `kubectl-reprise-${VERSION}.tar.gz`;

/** Windows starts no script by its first line. */
const PLATFORMS = ["linux", "darwin"].flatMap((os) => ["amd64", "arm64"].map((arch) => ({ os, arch })));

/** The same sources give the same bytes. */
export async function writeArchive(folder: string): Promise<string> {
  const content = mkdtempSync(join(tmpdir(), "reprise-plugin-"));
  try {
    await bundleCli(content);
    copyFileSync("LICENSE", join(content, "LICENSE"));
    const archive = join(folder, ARCHIVE);
    const same = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rwX,go+rX,go-w"];
    run(["tar", "--create", ...same, `--file=${archive}`, `--directory=${content}`, "."]);
    writeFileSync(archive, gzipSync(readFileSync(archive), { level: 9 }));
    return archive;
  } finally {
    rmSync(content, { recursive: true });
  }
}

/** `source` is the address of the repository, and the archive is an asset of its release. */
export function krewManifest(archive: string, source: string): string {
  const sha256 = createHash("sha256").update(readFileSync(archive)).digest("hex");
  const node = manifest.engines.node.replace(">=", "");
  return stringify({
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "reprise" },
    spec: {
      version: `v${VERSION}`,
      homepage: source,
      shortDescription: "Operate JobSets that restart in place",
      description:
        "Checks an installation of reprise, shows the state of JobSets that restart in place and what they wait for, " +
        "explains what would happen to a JobSet, and restarts one by hand.\n",
      caveats: `Needs Node.js ${node} or newer on the PATH.\n`,
      platforms: PLATFORMS.map((matchLabels) => ({
        selector: { matchLabels },
        uri: `${source}/releases/download/v${VERSION}/${ARCHIVE}`,
        sha256,
        bin: "reprise.js",
      })),
    },
  });
}
