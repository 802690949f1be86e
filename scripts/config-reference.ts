// Writes the table of settings in docs/configuration.md from the schema, so that the two cannot differ.
import { shapeAt } from "../src/api/config.ts";
import { settingTexts } from "../src/api/config-schema.ts";

const BEGIN = "<!-- settings: written by `node scripts/docs.ts`, do not edit -->";
const END = "<!-- settings: end -->";

/** The page with its table brought up to date. */
export function withReference(page: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin)
    throw new Error("docs/configuration.md has lost the marks around its table of settings");
  return `${page.slice(0, begin)}${BEGIN}\n\n${table()}\n\n${page.slice(end)}`;
}

function table(): string {
  return ["| setting | default | expects | what it does |", "|---|---|---|---|", ...rows([])].join("\n");
}

function rows(path: readonly string[]): string[] {
  return Object.entries(shapeAt(path)).flatMap(([key, schema]) => {
    const texts = settingTexts.get(schema);
    const setting = [...path, key];
    if (texts === undefined) return rows(setting);
    const cells = [`\`${setting.join(".")}\``, `\`${texts.example}\``, texts.expected, texts.description];
    return [`| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`];
  });
}
