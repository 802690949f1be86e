// Writes the generated files of charts/reprise, and the dashboard of manifests/monitoring.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { chartFiles } from "./chart/files.ts";

for (const [file, content] of chartFiles()) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
