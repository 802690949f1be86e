// Compiles the agent into one executable per architecture: dist/agent/<arch>/reprise-agent. `--arch arm64` adds a target
// other than this machine's. Nothing is downloaded: what a target needs comes from a pinned npm package.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

const ROOT = join(import.meta.dirname, "..");

/**
 * Names as in image platforms and as in bun's packages. bun's x64 runtime is the baseline one (its "-baseline" download
 * is the same file), so the agent runs on every x86-64 processor.
 */
const TARGETS = {
  amd64: { node: "x64", runtime: "bun-linux-x64", flag: "bun-linux-x64-baseline" },
  arm64: { node: "arm64", runtime: "bun-linux-aarch64", flag: "bun-linux-arm64" },
} as const;
type Arch = keyof typeof TARGETS;

const FLAGS = [
  "--compile",
  "--bytecode",
  "--minify",
  // Compile hot code five times later: an agent has none worth 3 MiB of every Pod (measured; its start is as fast).
  "--compile-jit-policy=5",
  // An agent takes its settings from its container's environment and from nowhere else.
  "--no-compile-autoload-dotenv",
  "--no-compile-autoload-bunfig",
];

export function buildAgent(arch: Arch, folder: string): string {
  const output = join(folder, arch, "reprise-agent");
  mkdirSync(join(folder, arch), { recursive: true });
  const bun = join(ROOT, "node_modules", "bun", "bin", "bun.exe");
  const args = [
    "build",
    ...FLAGS,
    `--target=${TARGETS[arch].flag}`,
    `--compile-executable-path=${runtimeFor(arch, bun)}`,
  ];
  const { status, error } = spawnSync(bun, [...args, `--outfile=${output}`, join(ROOT, "agent", "main.ts")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new Error(`bun could not compile the agent for ${arch}`, { cause: error });
  return output;
}

/** The runtime that becomes part of the executable. */
function runtimeFor(arch: Arch, bun: string): string {
  if (TARGETS[arch].node === process.arch) return bun;
  const name = `@oven/${TARGETS[arch].runtime}`;
  const path = join(ROOT, "node_modules", name, "bin", "bun");
  if (existsSync(path)) return path;
  const { version } = JSON.parse(readFileSync(join(ROOT, "node_modules", "bun", "package.json"), "utf8"));
  throw new Error(`${arch} needs ${name}; run: npm install --no-save --force ${name}@${version}`);
}

/** The architecture of this machine, as images name it. */
export function nativeArch(): Arch {
  return process.arch === "arm64" ? "arm64" : "amd64";
}

function isArch(name: string): name is Arch {
  return Object.hasOwn(TARGETS, name);
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { arch: { type: "string", multiple: true } } });
  const wanted = values.arch ?? [nativeArch()];
  const known = wanted.filter(isArch);
  if (known.length < wanted.length) throw new Error(`--arch takes ${Object.keys(TARGETS).join(" or ")}`);
  for (const arch of known) process.stdout.write(`${buildAgent(arch, join(ROOT, "dist", "agent"))}\n`);
}
