// Compiles the agent into one executable per architecture: dist/agent/<arch>/reprise-agent. `--arch arm64` adds a target
// other than this machine's. Nothing is downloaded but pinned npm packages.
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
  // Compile hot code five times later: an agent has none worth 3 MiB of every Pod (measured; its start is as fast).
  "--compile-jit-policy=5",
  // An agent takes its settings from its container's environment and from nowhere else.
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
  if (status !== 0) throw new Error(`bun could not compile the agent for ${arch}`, { cause: error });
  return output;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { arch: { type: "string", multiple: true } } });
  for (const arch of readArchs(values.arch)) {
    process.stdout.write(`${buildAgent(arch, join(ROOT, "dist", "agent"))}\n`);
  }
}
