// Bundles the CLI into one file: an install needs no TypeScript and the image carries no node_modules tree.
import { build } from "esbuild";

await build({
  entryPoints: { reprise: "src/cli/main.ts" },
  outdir: "dist",
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node24",
  logLevel: "warning",
});
