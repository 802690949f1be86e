// Part of `npm run lint`: no line over 120 columns.
import { findLongLines } from "./line-length.ts";

const found = findLongLines(".");
for (const { file, line, columns } of found) process.stderr.write(`${file}:${line}: ${columns} columns, 120 at most\n`);
process.stdout.write(`line length: ${found.length} lines too long\n`);
if (found.length > 0) process.exitCode = 1;
