// Checks pages that name tests: finds the titles of a test file, and references to titles that do not exist.
import { existsSync, readFileSync } from "node:fs";

/** A reference in a page, such as `src/x.test.ts`: outer title › inner title. */
export interface TestReference {
  readonly file: string;
  readonly titles: readonly string[];
}

export interface TestedRow {
  /** Its first cell. */
  readonly what: string;
  readonly test: TestReference;
}

/** The rows of a page's tables whose last cell names a test. */
export function testedRows(page: string): readonly TestedRow[] {
  return [...page.matchAll(/^\| (.*) \| `(\S+\.test\.ts)`: (.*) \|$/gm)].map(
    ([, cells = "", file = "", titles = ""]) => ({
      what: cells.split(" | ", 1)[0] ?? "",
      test: { file, titles: titles.split(" › ") },
    }),
  );
}

/** The titles that the file does not have; all of them when there is no such file. */
export function unknownTitles({ file, titles }: TestReference): readonly string[] {
  const known = existsSync(file) ? titlesOf(file) : [];
  return titles.filter((title) => !known.some((each) => each.test(title)));
}

/** The titles in a test file, and those of its cases, as patterns with a wildcard for each placeholder. */
function titlesOf(file: string): RegExp[] {
  const text = readFileSync(file, "utf8");
  const titles = text.matchAll(
    /(?:\b(?:test|it|describe)(?:\.concurrent)?|\](?: as const)?)\)?\(\s*"((?:[^"\\]|\\.)*)"/g,
  );
  // The first column of a table of cases, where "%s" alone is the title.
  const cases = text.matchAll(/^ {2}\["((?:[^"\\]|\\.)*)", (?:true|false)\],$/gm);
  return [...titles, ...cases]
    .map(([, title = ""]) => title)
    .filter((title) => title !== "%s")
    .map((title) => {
      const literal = title.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/%[sij]/g, ".*");
      return new RegExp(`^${literal}$`);
    });
}
