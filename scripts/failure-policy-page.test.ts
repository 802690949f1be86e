// Every row of the table in docs/failure-policy.md is a test: the last column names its file and its title.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { defaultConfig } from "../src/api/config.ts";
import { isPolicyConfigMap, readPolicyTexts } from "../src/policy/config-map.ts";
import { readDefinitionText } from "../src/policy/definition.ts";

const page = readFileSync("docs/failure-policy.md", "utf8");
const rows = [...page.matchAll(/^\| (.*) \| `(\S+\.test\.ts)`: (.*) \|$/gm)].map(
  ([, what = "", file = "", titles = ""]) => ({
    what: what.split(" | ", 1)[0] ?? "",
    file,
    titles: titles.split(" › "),
  }),
);

/** The titles in a test file, with what is filled in per case left open. */
function titlesOf(file: string): RegExp[] {
  const text = readFileSync(file, "utf8");
  const titles = text.matchAll(/(?:\b(?:test|it|describe)(?:\.concurrent)?|\])\)?\(\s*"((?:[^"\\]|\\.)*)"/g);
  return [...titles].map(([, title = ""]) => {
    const literal = title.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/%[sj]/g, ".*");
    return new RegExp(`^${literal}$`);
  });
}

describe("docs/failure-policy.md", () => {
  it("has a test for every row of its table", () => {
    const table = page.split("\n## ").find((section) => section.startsWith("What happens when"));
    expect(rows.length).toBe((table?.match(/^\| /gm)?.length ?? 0) - 1);
  });

  it.each(rows)("names a test that exists: $what", ({ file, titles }) => {
    const known = titlesOf(file);
    expect(titles.filter((title) => !known.some((each) => each.test(title)))).toEqual([]);
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
