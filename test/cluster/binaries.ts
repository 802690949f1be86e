// Builds the cluster's programs from Go modules, once, into a cache outside the checkout. A build writes to a temporary
// folder that is then renamed, so a killed build leaves nothing that looks complete.
import { spawn } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { holdLock } from "./lock.ts";
import { checkGo, thisMachine } from "./prerequisites.ts";
import type { Progress, Step } from "./progress.ts";
import { cacheKey, moduleFolder, type ToolGroupName, toolGroup } from "./tool-groups.ts";

/** Go downloads as many modules at a time as it may use cores, which is too few for small files over a network. */
const DOWNLOADS = 16;

/** The path of a program of one group. */
export type Binaries = (group: ToolGroupName, program: string) => string;

export function cacheFolder(): string {
  return join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "reprise");
}

export async function ensureBinaries(groups: readonly ToolGroupName[], progress: Progress): Promise<Binaries> {
  const missing = groups.filter((group) => {
    return Object.keys(toolGroup(group).programs).some((program) => !existsSync(path(group, program)));
  });
  const modules = new Set(missing.map((group) => toolGroup(group).module));
  for (const module of modules) {
    await buildModule(
      module,
      missing.filter((group) => toolGroup(group).module === module),
      progress,
    );
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

async function buildModule(module: string, groups: readonly ToolGroupName[], progress: Progress): Promise<void> {
  checkGo(thisMachine());
  mkdirSync(join(cacheFolder(), "bin"), { recursive: true });
  const release = await holdLock(join(cacheFolder(), `build-${module}.lock`), `building ${module}`);
  const temporary = mkdtempSync(join(cacheFolder(), "building-"));
  try {
    // Another process may have built some of them while this one waited for the lock.
    const missing = groups.filter((group) => !existsSync(groupFolder(group)));
    if (missing.length === 0) return;
    const step = progress.step(`building ${missing.join(", ")}`);
    const compiled = join(temporary, "compiled");
    await compile(module, missing, compiled, step);
    for (const group of missing) {
      const target = join(temporary, group);
      mkdirSync(target);
      for (const [program, source] of Object.entries(toolGroup(group).programs)) {
        renameSync(join(compiled, executableName(module, source)), join(target, program));
      }
      await copyAssets(group, target);
      renameSync(target, groupFolder(group));
    }
    step.done();
  } finally {
    rmSync(temporary, { recursive: true, force: true });
    release();
  }
}

/** One `go build` for all programs: separate ones would leave cores idle while each of them links. */
async function compile(module: string, groups: readonly ToolGroupName[], target: string, step: Step): Promise<void> {
  const sources = groups.flatMap((group) => Object.values(toolGroup(group).programs));
  step.update(undefined, "downloading modules");
  const listed = await go(["list", "-deps", ...sources], module, { env: { GOMAXPROCS: String(DOWNLOADS) } });
  const packages = listed.split("\n").length;
  const linkerFlags = groups.flatMap((group) => {
    const { programs, linkerFlags = "" } = toolGroup(group);
    return Object.values(programs).flatMap((source) => ["-ldflags", `${source}=-s -w ${linkerFlags}`.trim()]);
  });
  // `go build -v` prints each package once, when it compiles it.
  let compiled = 0;
  await go(["build", "-v", "-trimpath", ...linkerFlags, "-o", `${target}/`, ...sources], module, {
    onLine: (line) => {
      compiled += 1;
      step.update(Math.min(1, compiled / packages), line);
    },
  });
}

/** How `go build` names the program of a package: by the last element of its path that is not a major version. */
function executableName(module: string, source: string): string {
  return basename(source === "." ? module : source.replace(/\/v\d+$/, ""));
}

/** The manifests that belong to a group's programs. */
export function assetFolder(group: ToolGroupName): string {
  return join(groupFolder(group), "assets");
}

async function copyAssets(group: ToolGroupName, target: string): Promise<void> {
  const { assets, moreAssets, module } = toolGroup(group);
  if (assets === undefined) return;
  for (const each of moreAssets === undefined ? [assets] : [assets, moreAssets]) {
    const folder = await go(["list", "-m", "-f", "{{.Dir}}", each.module], module);
    cpSync(join(folder, each.folder), join(target, "assets"), { recursive: true });
  }
  // Files of the module cache are read-only, so their owner could not remove the copies.
  for (const entry of readdirSync(join(target, "assets"), { recursive: true })) {
    chmodSync(join(target, "assets", entry.toString()), 0o755);
  }
}

interface GoOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Called for each line of stderr. */
  readonly onLine?: (line: string) => void;
}

async function go(args: readonly string[], module: string, { env, onLine }: GoOptions = {}): Promise<string> {
  const child = spawn("go", args, {
    cwd: moduleFolder(module),
    env: { ...process.env, CGO_ENABLED: "0", GOWORK: "off", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const errors: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    errors.push(line);
    onLine?.(line);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`go ${args[0]} in ${module} failed:\n${errors.slice(-20).join("\n")}`);
  return output.trim();
}
