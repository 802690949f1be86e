// Runs buildah with its own store in the cache, apart from the images that the machine keeps.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "../cluster/binaries.ts";

/** The environment in which buildah uses our store, and needs neither a container runtime nor a network of its own. */
export function buildahEnvironment(): NodeJS.ProcessEnv {
  const folder = join(cacheFolder(), "buildah");
  mkdirSync(folder, { recursive: true });
  return { CONTAINERS_STORAGE_CONF: storageConfig(folder), BUILDAH_ISOLATION: "chroot" };
}

export function buildah(args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync("buildah", args, {
    encoding: "utf8",
    maxBuffer: 64 << 20,
    env: { ...process.env, ...buildahEnvironment() },
  });
  if (status !== 0) throw new Error(`buildah ${args.join(" ")}: ${stderr.trim()}`, { cause: error });
  return stdout.trim();
}

export function imageExists(name: string): boolean {
  return buildah(["images", "--quiet", "--filter", `reference=${name}`]) !== "";
}

/** An overlay layer costs what changed. vfs copies the whole image for each layer, for machines without overlays. */
function storageConfig(folder: string): string {
  const file = (driver: string) => join(folder, `${driver}.conf`);
  for (const driver of ["overlay", "vfs"]) {
    const roots = `graphroot = "${folder}/${driver}"\nrunroot = "/run/reprise-buildah"\n`;
    const text = `[storage]\ndriver = "${driver}"\n${roots}`;
    writeFileSync(file(driver), text);
  }
  const env = { ...process.env, CONTAINERS_STORAGE_CONF: file("overlay") };
  const overlays = spawnSync("buildah", ["info"], { stdio: "ignore", env }).status === 0;
  return file(overlays ? "overlay" : "vfs");
}
