import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, it } from "vitest";
import { policies } from "../../../test/builders/injection.ts";
import { UNANNOTATED } from "../../api/namespace.ts";
import { defaultConfig } from "../../config/config.ts";
import { readDocuments } from "../input/documents.ts";
import { injectDocuments, print } from "./inject-report.ts";

const known = { policies, namespaces: () => UNANNOTATED };

function diffOf(text: string): string[] {
  const { documents } = readDocuments(text, "in.yaml");
  const { injected } = injectDocuments(documents, defaultConfig.injection, known, "default");
  return print(injected, "diff", (_color, line) => line).split("\n");
}

/** The key of a changed line, with its indentation. */
function keyOf(line: string): string {
  return /^[-+](\s*(?:- )?[^:]+: )\S/.exec(line)?.[1] ?? line;
}

it.each(globSync("test/golden/inject/*.in.yaml").map((file) => [basename(file), file]))(
  "the diff of %s removes no line except where the value of its key changes",
  (_name, file) => {
    const lines = diffOf(readFileSync(file, "utf8")).slice(2);
    const added = new Set(lines.filter((line) => line.startsWith("+")).map(keyOf));
    expect(added.size).toBeGreaterThan(0);
    expect(lines.filter((line) => line.startsWith("-") && !added.has(keyOf(line)))).toEqual([]);
  },
);
