// The project's image, built from its Dockerfile once for each content of the sources and kept in the cache.
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Arch, nativeArch } from "../../scripts/architectures.ts";
import { buildImage, buildIndex } from "../../scripts/build-image.ts";
import { cacheFolder } from "../cluster/binaries.ts";
import { holdLock } from "../cluster/lock.ts";
import { ensurePackages } from "../cluster/packages.ts";
import type { Progress } from "../cluster/progress.ts";
import { buildBase, CERTIFICATES, finalBase } from "./bases.ts";
import { buildah, buildahEnvironment, imageExists } from "./buildah.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** What the Dockerfile copies, and itself; .dockerignore leaves the tests out. */
const SOURCES = [
  "Dockerfile",
  ".dockerignore",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "{scripts,src,agent,controller}/**/*",
];

/** The last is copied into the base that builds. */
const PACKAGES = {
  "/usr/bin/buildah": "buildah",
  "/usr/bin/mmdebstrap": "mmdebstrap",
  [CERTIFICATES]: "ca-certificates",
};

export const imageName = (tag: string): string => `docker.io/local/reprise:${tag}`;

/** Returns the name of the image in buildah's store. */
export async function ensureRepriseImage(progress: Progress): Promise<string> {
  const arch = nativeArch();
  return await ensureBuilt(progress, arch, (tag) => {
    const bases = basesOf(arch, progress);
    buildImage({ engine: "buildah", arch, tag, bases, env: buildahEnvironment(), quiet: true });
  });
}

/** Returns the name of an index with the images of both architectures. */
export async function ensureRepriseIndex(progress: Progress, archs: readonly Arch[]): Promise<string> {
  return await ensureBuilt(progress, archs.join("-"), (tag) => {
    const bases = (arch: Arch) => basesOf(arch, progress);
    buildIndex({ engine: "buildah", archs, tag, bases, env: buildahEnvironment(), quiet: true });
  });
}

function basesOf(arch: Arch, progress: Progress) {
  return { build: buildBase(progress), final: finalBase(arch, progress) };
}

async function ensureBuilt(progress: Progress, what: string, build: (tag: string) => void): Promise<string> {
  ensurePackages(progress, PACKAGES);
  mkdirSync(join(cacheFolder(), "buildah"), { recursive: true });
  const release = await holdLock(join(cacheFolder(), "buildah", "build.lock"), "building the image");
  try {
    const tag = `localhost/reprise:${contentKey()}-${what}`;
    if (imageExists(tag)) return tag;
    forgetOldBuilds();
    const step = progress.step(`building the image for ${what}`);
    build(tag);
    step.done();
    return tag;
  } finally {
    release();
  }
}

/** A docker-archive of the image under this name, for the nodes of a cluster. */
export async function repriseArchive(name: string, progress: Progress): Promise<string> {
  const image = await ensureRepriseImage(progress);
  const folder = join(cacheFolder(), "images", "reprise");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${[image, name].map((each) => each.replaceAll(/[/:]/g, "_")).join("-as-")}.tar`);
  if (existsSync(file)) return file;
  forgetOldArchives(folder);
  const temporary = `${file}.${process.pid}`;
  buildah(["push", "--quiet", image, `docker-archive:${temporary}:${name}`]);
  renameSync(temporary, file);
  return file;
}

/** Enough for a few branches and both architectures; each is a quarter of a gigabyte, and its layers more. */
const KEPT_BUILDS = 10;

/** The bases stay. Without the layers of earlier builds, the next one fetches the npm packages again. */
function forgetOldBuilds(): void {
  const names = buildah(["images", "--format={{.Name}}:{{.Tag}}", "--filter=reference=localhost/reprise"]).split("\n");
  if (names.length <= KEPT_BUILDS) return;
  buildah(["rmi", ...names]);
  buildah(["rmi", "--prune"]);
}

/** An archive is loaded right after it was made or found; none is needed for longer. */
const ARCHIVE_AGE_MS = 3_600_000;

function forgetOldArchives(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (Date.now() - statSync(file).mtimeMs > ARCHIVE_AGE_MS) rmSync(file, { force: true });
  }
}

function contentKey(): string {
  const hash = createHash("sha256");
  const files = SOURCES.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).sort();
  for (const file of files.filter((path) => !path.endsWith(".test.ts") && !path.includes("/testing/"))) {
    if (statSync(join(ROOT, file)).isFile())
      hash
        .update(file)
        .update("\0")
        .update(readFileSync(join(ROOT, file)));
  }
  return hash.digest("hex").slice(0, 16);
}
