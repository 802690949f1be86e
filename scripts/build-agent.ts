// Compiles the agent into one executable per architecture: dist/agent/<arch>/reprise-agent. `--arch arm64` selects a
// target other than this machine's. It downloads only pinned npm packages.
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Arch, bunFor, bunTarget, nativeArch, readArchs } from "./architectures.ts";

const ROOT = join(import.meta.dirname, "..");

const FLAGS = [
  "--compile",
  "--bytecode",
  "--minify",
  // JIT-compile hot code five times later. The agent has none, and this saves 3 MiB in every Pod (measured; same start
  // time).
  "--compile-jit-policy=5",
  // The agent is configured only by its container's environment.
  "--no-compile-autoload-dotenv",
  "--no-compile-autoload-bunfig",
];

export function buildAgent(arch: Arch, folder: string): string {
  const output = join(folder, arch, "reprise-agent");
  mkdirSync(join(folder, arch), { recursive: true });
  const args = ["build", ...FLAGS, `--target=${bunTarget(arch)}`, `--compile-executable-path=${bunFor(arch)}`];
  const bun = bunFor(nativeArch());
  const { status, error } = spawnSync(bun, [...args, `--outfile=${output}`, join(ROOT, "agent", "main.ts")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new Error(`bun failed to compile the agent for ${arch}`, { cause: error });
  return output;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { arch: { type: "string", multiple: true } } });
  for (const arch of readArchs(values.arch)) {
    process.stdout.write(`${buildAgent(arch, join(ROOT, "dist", "agent"))}\n`);
  }
}
