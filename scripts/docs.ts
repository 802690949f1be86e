// Updates the generated parts of docs/.
import { readFileSync, writeFileSync } from "node:fs";
import { RULES } from "../controller/rules/chain.ts";
import { withAnnotations } from "./docs/annotation-reference.ts";
import { withReference } from "./docs/config-reference.ts";
import { withFields } from "./docs/crd-reference.ts";
import { withOperations } from "./docs/operations-reference.ts";
import { withRules } from "./docs/rules-reference.ts";

const PAGES: readonly (readonly [file: string, update: (page: string) => string | Promise<string>])[] = [
  ["docs/configuration.md", withReference],
  ["docs/annotations.md", withAnnotations],
  ["docs/operations.md", withOperations],
  ["docs/inplacerestart.md", withFields],
  ["docs/architecture.md", (page) => withRules(page, RULES)],
];

for (const [file, update] of PAGES) writeFileSync(file, await update(readFileSync(file, "utf8")));
