// Checks that every row of the first two tables in docs/failure-policy.md names a test, with its file and title.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { defaultConfig } from "../../src/config/config.ts";
import { isPolicyConfigMap, readPolicyTexts } from "../../src/policy/config-map.ts";
import { readDefinitionText } from "../../src/policy/definition.ts";
import { testedRows, unknownTitles } from "./test-titles.ts";

const page = readFileSync("docs/failure-policy.md", "utf8");
const rows = testedRows(page);

describe("docs/failure-policy.md", () => {
  it("has a test for every failure, and for every field of JobSet and Job", () => {
    const counts = ["What happens when", "Fields of JobSet and Job"].map((heading) => {
      const table = page.split("\n## ").find((section) => section.startsWith(heading));
      return (table?.match(/^\| /gm)?.length ?? 0) - 1;
    });
    expect(counts.every((count) => count > 20)).toBe(true);
    expect(rows.length).toBe(counts.reduce((sum, count) => sum + count, 0));
  });

  it.each(rows)("names a test that exists: $what", ({ test }) => {
    expect(unknownTitles(test)).toEqual([]);
  });

  it("gives cuda-default the codes that it has", () => {
    const section = page.slice(page.indexOf("### cuda-default"), page.indexOf("What is *not* in it"));
    const of = (name: string) =>
      [...section.matchAll(new RegExp(`^\\| ${name} \\| (\\d+) \\|`, "gm"))].map(([, code]) => Number(code));
    expect({ fail: of("fail"), recreate: of("recreate") }).toEqual(defaultConfig.failurePolicies.get("cuda-default"));
  });
});

it.each([
  ["docs/failure-policy.md", /```yaml\n(apiVersion: v1\n[\s\S]*?)```/.exec(page)?.[1] ?? ""],
  ["examples/failure-policies.yaml", readFileSync("examples/failure-policies.yaml", "utf8")],
])("the policies in %s are usable", (_file, text) => {
  const [document] = parseAllDocuments(text);
  const configMap: unknown = document?.toJS();
  expect(isPolicyConfigMap(configMap)).toBe(true);
  const texts = [...readPolicyTexts(configMap).values()];
  expect(texts.length).toBeGreaterThan(0);
  for (const each of texts) expect(readDefinitionText(each)).toMatchObject({ ok: true });
});
