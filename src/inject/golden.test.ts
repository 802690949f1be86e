// Every injected shape as a pair of files. After an intended change: UPDATE_GOLDEN=1, and read the difference.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { create, injected, update } from "../../test/builders/injection.ts";
import { stored, withCrdDefaults } from "../../test/builders/stored.ts";
import { type Finding, findingText } from "../api/admission.ts";
import { VERSION } from "../api/version.ts";
import { createPatch } from "../json/patch.ts";

const FOLDER = new URL("../../test/golden/inject/", import.meta.url);
const SHAPES = readdirSync(FOLDER).filter((file) => file.endsWith(".in.yaml"));

function read(file: string): string {
  return readFileSync(new URL(file, FOLDER), "utf8");
}

/** The object as YAML after its warnings. The version is masked, so that a release does not change every file. */
function render(object: unknown, warnings: readonly Finding[]): string {
  const comments = warnings.map((warning) => `# warning: ${findingText(warning)}\n`).join("");
  return comments + stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }).replaceAll(VERSION, "VERSION");
}

describe.each(SHAPES)("%s", (file) => {
  const plain = () => parse(read(file));
  const out = file.replace(".in.yaml", ".out.yaml");

  it("is injected as in its golden file", () => {
    const outcome = create(plain());
    const text = render(injected(outcome), outcome.warnings);
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(new URL(out, FOLDER), text);
    expect(text).toBe(read(out));
  });

  it("does not change when it is injected again", () => {
    const once = injected(create(plain()));
    expect(injected(create(once))).toBe(once);
  });

  it("does not change when the plain file is applied again", () => {
    const live = stored(injected(create(plain())));
    const again = injected(update(withCrdDefaults(plain()), live));
    expect(createPatch(Object(again["spec"]), Object(live["spec"]))).toEqual([]);
  });
});
