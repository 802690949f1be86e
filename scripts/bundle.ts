// Bundles the CLI: an install needs no TypeScript, and the image carries no node_modules tree.
// Code that only some commands need becomes a chunk of its own, so that small commands start without it.
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

export async function bundleCli(folder: string): Promise<void> {
  // Chunks are named by content; without this the old ones would pile up.
  await rm(join(folder, "chunks"), { recursive: true, force: true });
  await build({
    entryPoints: { reprise: "src/cli/main.ts" },
    outdir: folder,
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node22.19",
    // Stack traces with --log-level debug name the functions of the source.
    keepNames: true,
    // CommonJS dependencies call require() for Node's own modules, which an ES module does not have.
    banner: {
      js: 'import { createRequire as bundleRequire } from "node:module"; const require = bundleRequire(import.meta.url);',
    },
    logLevel: "warning",
  });
  await chmod(join(folder, "reprise.js"), 0o755);
}
