// Brings the generated parts of docs/ up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { withReference } from "./config-reference.ts";

const page = "docs/configuration.md";
writeFileSync(page, withReference(readFileSync(page, "utf8")));
