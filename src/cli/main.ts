#!/usr/bin/env node
// The first code to run. It checks the Node version before anything is loaded that an old Node cannot even parse, so
// its only static import is that check.
import { nodeTooOld } from "./node-version.ts";

const refusal = nodeTooOld(process.versions.node);
if (refusal === undefined) {
  const { run } = await import("./run.ts");
  await run(process.argv);
} else {
  process.stderr.write(`${refusal}\n`);
  process.exitCode = 1;
}
