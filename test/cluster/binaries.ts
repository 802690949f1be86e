// Builds the cluster's programs from Go modules, once, into a cache outside the checkout. A build goes to a temporary
// folder and is renamed into place, so a killed build leaves nothing that looks finished.
import { spawn } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { holdLock } from "./lock.ts";
import { checkGo, thisMachine } from "./prerequisites.ts";
import type { Progress } from "./progress.ts";
import { cacheKey, moduleFolder, type ToolGroupName, toolGroup } from "./tool-groups.ts";

/** The path of a program of one group. */
export type Binaries = (group: ToolGroupName, program: string) => string;

export function cacheFolder(): string {
  return join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "reprise");
}

export async function ensureBinaries(groups: readonly ToolGroupName[], progress: Progress): Promise<Binaries> {
  for (const group of groups) {
    const missing = Object.keys(toolGroup(group).programs).filter((program) => !existsSync(path(group, program)));
    if (missing.length > 0) await build(group, progress);
  }
  return path;
}

function path(group: ToolGroupName, program: string): string {
  // Where controller tests keep their API server already (the convention of envtest).
  const assets = process.env["KUBEBUILDER_ASSETS"];
  if (assets !== undefined && existsSync(join(assets, program))) return join(assets, program);
  return join(groupFolder(group), program);
}

function groupFolder(group: ToolGroupName): string {
  return join(cacheFolder(), "bin", cacheKey(group));
}

async function build(group: ToolGroupName, progress: Progress): Promise<void> {
  checkGo(thisMachine());
  mkdirSync(join(cacheFolder(), "bin"), { recursive: true });
  const release = await holdLock(join(cacheFolder(), `build-${group}.lock`), `building ${group}`);
  const target = groupFolder(group);
  const temporary = mkdtempSync(join(cacheFolder(), "building-"));
  try {
    if (existsSync(target)) return; // Another process built it while we waited for the lock.
    const { programs, linkerFlags = "", folder } = toolGroup(group);
    const step = progress.step(`building ${folder} (${Object.keys(programs).join(", ")})`);
    step.update(undefined, "downloading modules");
    const packages = (await go(["list", "-deps", ...Object.values(programs)], group, () => {})).split("\n").length;
    // `go build -v` names each package as it is compiled, and none twice.
    let compiled = 0;
    for (const [program, source] of Object.entries(programs)) {
      const flags = ["-v", "-trimpath", "-ldflags", `-s -w ${linkerFlags}`.trim(), "-o", join(temporary, program)];
      await go(["build", ...flags, source], group, (line) => {
        if (!line.startsWith("go: downloading")) compiled += 1;
        step.update(Math.min(1, compiled / packages), line);
      });
    }
    await copyAssets(group, temporary);
    renameSync(temporary, target);
    step.done();
  } finally {
    rmSync(temporary, { recursive: true, force: true });
    release();
  }
}

/** The manifests that came with a group's programs. */
export function assetFolder(group: ToolGroupName): string {
  return join(groupFolder(group), "assets");
}

async function copyAssets(group: ToolGroupName, target: string): Promise<void> {
  const { assets } = toolGroup(group);
  if (assets === undefined) return;
  const module = await go(["list", "-m", "-f", "{{.Dir}}", assets.module], group, () => {});
  cpSync(join(module, assets.folder), join(target, "assets"), { recursive: true });
  // Files of the module cache are read-only, which would keep the cache from ever being removed by its owner.
  for (const entry of readdirSync(join(target, "assets"), { recursive: true })) {
    chmodSync(join(target, "assets", entry.toString()), 0o755);
  }
}

async function go(args: readonly string[], group: ToolGroupName, onLine: (line: string) => void): Promise<string> {
  const child = spawn("go", args, {
    cwd: moduleFolder(group),
    env: { ...process.env, CGO_ENABLED: "0", GOWORK: "off" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const errors: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    errors.push(line);
    onLine(line);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`go ${args[0]} of ${group} failed:\n${errors.slice(-20).join("\n")}`);
  return output.trim();
}
