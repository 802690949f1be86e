// Brings the generated parts of docs/ up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { withAnnotations } from "./annotation-reference.ts";
import { withReference } from "./config-reference.ts";

const PAGES: readonly (readonly [file: string, update: (page: string) => string])[] = [
  ["docs/configuration.md", withReference],
  ["docs/annotations.md", withAnnotations],
];

for (const [file, update] of PAGES) writeFileSync(file, update(readFileSync(file, "utf8")));
