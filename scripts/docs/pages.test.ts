// Checks what the pages say about the repository: links, files and tests that they name exist.
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { RULES } from "../../controller/rules/chain.ts";
import { CONDITION } from "../../controller/status/conditions.ts";
import { defaultConfig } from "../../src/config/config.ts";
import { withFields } from "./crd-reference.ts";
import { withOperations } from "./operations-reference.ts";
import { withRules } from "./rules-reference.ts";
import { testedRows, unknownTitles } from "./test-titles.ts";

const FOLDERS = ["agent", "bench", "charts", "controller", "docs", "examples", "manifests", "scripts", "src", "test"];
const PAGES = [...globSync("*.md"), ...globSync("docs/**/*.md"), ...FOLDERS.map((folder) => `${folder}/README.md`)];
const read = (file: string): string => readFileSync(file, "utf8");

/** As GitHub makes them. */
function anchorsOf(file: string): readonly string[] {
  return [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function isBroken(page: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : normalize(join(dirname(page), path));
  return !existsSync(file) || (anchor !== undefined && !anchorsOf(file).includes(anchor));
}

/** Prose alone: code blocks, tables and generated parts may have longer lines, and so may a line that holds a link. */
function proseLines(text: string): readonly string[] {
  return text
    .replaceAll(/^```[\s\S]*?^```$/gm, "")
    .split("\n")
    .filter((line) => !line.startsWith("|") && !line.startsWith("<!--") && !line.includes("]("));
}

describe.each([...new Set(PAGES)].sort())("%s", (page) => {
  const text = read(page);

  it("links to files and headings that exist", () => {
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
    expect(targets.filter((target) => !/^https?:/.test(target) && isBroken(page, target))).toEqual([]);
  });

  it("names files that exist", () => {
    const inCode = [
      ...text.matchAll(/`((?:src|agent|charts|controller|manifests|scripts|test|bench|examples|docs)\/[^`\s<]*)`/g),
    ];
    const files = inCode.map(([, file = ""]) => file);
    expect(files.filter((file) => globSync(file).length === 0)).toEqual([]);
  });

  it("uses the plain words of the field", () => {
    expect(text.match(/\b(somebody|nobody|whoever|anew|for ever|thereby)\b/gi)).toBeNull();
  });

  it("has no line of prose over 120 columns", () => {
    expect(proseLines(text).filter((line) => line.length > 120)).toEqual([]);
  });
});

it.each(globSync(["*.md", "docs/*.md"]).filter((page) => page !== "README.md"))(
  "%s is linked from the README",
  (page) => {
    expect(read("README.md")).toContain(`](${page})`);
  },
);

it.each(globSync("docs/*.md").filter((page) => page !== "docs/README.md"))("%s names its readers first", (page) => {
  expect(read(page).split("\n\n")[1]).toMatch(/^For /);
});

it.each(globSync("docs/decisions/0*.md"))("%s is in the index of decisions", (page) => {
  expect(read("docs/decisions/README.md")).toContain(`](${page.replace("docs/decisions/", "")})`);
});

it("every top-level folder has a README", () => {
  // Dot-folders and what .gitignore leaves out are not part of the source.
  const ignored = read(".gitignore").split("\n");
  const folders = globSync("*/").filter((folder) => !ignored.includes(`${folder}/`));
  expect(folders.sort()).toEqual(FOLDERS);
});

it("docs/inplacerestart.md lists the fields of the CRD (otherwise run: node scripts/docs.ts)", () => {
  expect(withFields(read("docs/inplacerestart.md"))).toBe(read("docs/inplacerestart.md"));
});

it("docs/architecture.md lists the rules of the controller (otherwise run: node scripts/docs.ts)", () => {
  const page = read("docs/architecture.md");
  expect(withRules(page, RULES)).toBe(page);
});

describe("docs/glossary.md", () => {
  const rows = [...read("docs/glossary.md").matchAll(/^\| (.+?) \| .+ \| (.+) \|$/gm)].slice(1);

  it("has its words in alphabetical order, each once", () => {
    const words = rows.map(([, word = ""]) => word);
    expect(words).toEqual([...new Set(words)].sort((a, b) => a.localeCompare(b, "en")));
    expect(words.length).toBeGreaterThan(30);
  });

  it("names the file where each word lives", () => {
    expect(rows.filter(([, , file = ""]) => !/^`[^`]+\.ts`$/.test(file)).map(([row]) => row)).toEqual([]);
  });

  it("explains words that their files still use", () => {
    const isUsed = (term: string, file: string) => {
      const source = `${file}\n${read(file)}`.toLowerCase().replaceAll("-", "");
      return term
        .replaceAll("-", "")
        .toLowerCase()
        .split(" ")
        .every((word) => source.includes(word));
    };
    const unused = rows.filter(([, term = "", file = ""]) => !isUsed(term, file.replaceAll("`", "")));
    expect(unused.map(([row]) => row)).toEqual([]);
  });
});

describe("docs/gitops.md", () => {
  const page = read("docs/gitops.md");
  const rows = testedRows(page);

  it("has a test for every row of its tables", () => {
    const tables = page.match(/^\|---/gm)?.length ?? 0;
    // Each table has a head and a line below it.
    expect(rows.length).toBe((page.match(/^\|/gm)?.length ?? 0) - 2 * tables);
    expect(rows.length).toBeGreaterThan(0);
  });

  it.each(rows)("names a test that exists: $what", ({ test }) => {
    expect(unknownTitles(test)).toEqual([]);
  });
});

describe("docs/operations.md", () => {
  const page = read("docs/operations.md");
  const section = (heading: string) => page.split(/\n## /).find((part) => part.startsWith(`${heading}\n`)) ?? "";

  it("lists the metrics and Events of the code (otherwise run: node scripts/docs.ts)", async () => {
    expect(await withOperations(page)).toBe(page);
  });

  it("uses no metric that it does not list", () => {
    const listed = [...page.matchAll(/^\| `(reprise_\w+)` \|/gm)].map(([, name = ""]) => name);
    const used = [...page.matchAll(/\breprise_\w+/g)].map(([name]) => name.replace(/_bucket$/, ""));
    expect(used.filter((name) => name !== "reprise_" && !listed.includes(name))).toEqual([]);
  });

  it.each(["webhook", "controller"])("says what a %s replica asks for, as its manifest has it", (component) => {
    const { spec } = parse(read(`manifests/${component}/deployment.yaml`));
    const { requests, limits } = spec.template.spec.containers[0].resources;
    const resources = `${requests.cpu} CPU and ${requests.memory} memory requested, at most ${limits.memory}`;
    expect(page).toContain(`| a ${component} replica | ${resources}`);
  });

  it("says what an agent asks for by default", () => {
    expect(page).toContain("| 10m CPU and 64Mi memory; in a Guaranteed Pod 100m CPU");
    const resources = { cpu: "10m", guaranteedCpu: "100m", memory: "64Mi" };
    expect(defaultConfig.injection.agentResources).toEqual(resources);
  });

  it("has every condition of a group, and no other", () => {
    const listed = [...section("Conditions").matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(listed).toEqual(Object.values(CONDITION));
  });

  it("quotes log lines that the programs write", () => {
    const sources = globSync("{src,controller,agent}/**/*.ts").map(read).join("\n");
    const quoted = [...section("Log lines").matchAll(/^\| \w+ \| (.*?) \|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, line = ""]) => line),
    );
    expect(quoted.length).toBeGreaterThan(10);
    expect(quoted.filter((line) => !sources.includes(`"${line}"`))).toEqual([]);
  });
});
