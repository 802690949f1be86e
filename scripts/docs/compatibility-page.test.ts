// Checks the table of docs/compatibility.md: what it calls run names its test, and what has no test is not called run.
import { existsSync, globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const PAGE = readFileSync("docs/compatibility.md", "utf8");
const NOTHING = "nothing";
const NONE = "–";

interface Row {
  readonly product: string;
  readonly version: string;
  readonly run: string;
  readonly tests: string;
}

/** Each row of a product begins with a link to its section. */
const rows: readonly Row[] = [...PAGE.matchAll(/^\| (\[.*) \|$/gm)].map(([, cells = ""]) => {
  const [product = "", version = "", run = "", , , tests = ""] = cells.split(" | ");
  return { product, version, run, tests };
});

const testsOf = (row: Row): readonly string[] => [...row.tests.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file);

it("has a table of products in alphabetical order", () => {
  const products = rows.map(({ product }) => /^\[(.+)\]/.exec(product)?.[1] ?? "");
  expect(products.length).toBeGreaterThan(5);
  expect(products).toEqual([...new Set(products)].sort((a, b) => a.localeCompare(b, "en")));
});

describe.each(rows)("$product", (row) => {
  it("was run if it names a test, and names a test if it was run", () => {
    expect(row.tests === NONE).toBe(row.run === NOTHING);
    expect(testsOf(row).length > 0).toBe(row.run !== NOTHING);
  });

  it("names tests that exist", () => {
    expect(testsOf(row).filter((file) => !file.endsWith(".test.ts") || !existsSync(file))).toEqual([]);
  });

  it("has a version if its own programs were run", () => {
    const isRun = testsOf(row).some((file) => file.startsWith("test/ecosystem/"));
    expect(isRun && !/^v?\d/.test(row.version)).toBe(false);
  });
});

it("every ecosystem test is in the table", () => {
  const named = rows.flatMap(testsOf);
  expect(globSync("test/ecosystem/**/*.test.ts").filter((file) => !named.includes(file))).toEqual([]);
});
