// Replaces a generated part of a page, between two marks.

/** The page with the part between the marks named `what` replaced. */
export function withGenerated(page: string, what: string, part: string): string {
  const begin = `<!-- ${what}: written by \`node scripts/docs.ts\`, do not edit -->`;
  const end = `<!-- ${what}: end -->`;
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no marks around its ${what}`);
  return `${page.slice(0, from)}${begin}\n\n${part}\n\n${page.slice(to)}`;
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}
