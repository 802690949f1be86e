import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { defaultConfig, parseConfig } from "../../src/config/config.ts";
import { withReference } from "./config-reference.ts";

const page = readFileSync("docs/configuration.md", "utf8");

describe("docs/configuration.md", () => {
  it("lists the settings of the schema (otherwise run: node scripts/docs.ts)", () => {
    expect(withReference(page)).toBe(page);
  });

  it("has a row for every setting, also for one without a default and one that may be a word or a map", () => {
    const names = [...page.matchAll(/^\| `([\w.]+)` \|/gm)].map(([, name]) => name);
    const others = ["injection.defaultMaxRestarts", "injection.agentResources"];
    expect(names.sort()).toEqual([...leaves(defaultConfig), ...others].sort());
  });

  it("shows an example that is accepted and whose values are the defaults", () => {
    const example = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    expect(parseConfig(example, "docs/configuration.md")).toEqual(defaultConfig);
    expect(example).toContain("injection:");
  });
});

function leaves(value: object, prefix = ""): string[] {
  return Object.entries(value).flatMap(([key, item]) => {
    const nested = typeof item === "object" && item !== null && !Array.isArray(item) && !(item instanceof Map);
    return nested ? leaves(item, `${prefix}${key}.`) : [`${prefix}${key}`];
  });
}
