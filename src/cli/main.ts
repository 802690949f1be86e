#!/usr/bin/env node
// The entry point. It checks the Node.js version before it loads anything that an old version cannot parse, so that
// check is its only static import.
import { nodeTooOld } from "./node-version.ts";

const refusal = nodeTooOld(process.versions.node);
if (refusal === undefined) {
  const { run } = await import("./run.ts");
  await run(process.argv);
} else {
  process.stderr.write(`${refusal}\n`);
  process.exitCode = 1;
}
