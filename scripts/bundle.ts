// Bundles the CLI, so that an installation needs no TypeScript and the image no node_modules. Code that only some
// commands need becomes a separate chunk, so that small commands start without it.
import { chmod, copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import manifest from "../package.json" with { type: "json" };

export async function bundleCli(folder: string): Promise<void> {
  // Chunks are named by content, so old ones would accumulate.
  await rm(join(folder, "chunks"), { recursive: true, force: true });
  await build({
    entryPoints: { reprise: "src/cli/main.ts" },
    outdir: folder,
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: manifest.engines.node.replace(">=", "node"),
    // Stack traces at --log-level debug show the original function names.
    keepNames: true,
    // CommonJS dependencies call require() for Node's own modules. ES modules have no require().
    banner: {
      js: [
        'import { createRequire as bundleRequire } from "node:module";',
        "const require = bundleRequire(import.meta.url);",
      ].join("\n"),
    },
    logLevel: "warning",
  });
  await chmod(join(folder, "reprise.js"), 0o755);
  await bundlePage(join(folder, "dashboard"));
}

const PAGE = "src/dashboard/page";

/** The page of the dashboard: one script, and files that are served as they are. */
export async function bundlePage(folder: string): Promise<void> {
  await build({
    entryPoints: { page: `${PAGE}/main.ts` },
    outdir: folder,
    bundle: true,
    minify: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    logLevel: "warning",
  });
  for (const file of ["index.html", "style.css", "icon.svg"]) await copyFile(join(PAGE, file), join(folder, file));
}
