// Writes the table of settings in docs/configuration.md from the schema.
import { shapeAt } from "../../src/config/config.ts";
import { settingTexts } from "../../src/config/config-schema.ts";
import { markdownTable, withGenerated } from "./generated-part.ts";

/** The page with its table updated. */
export function withReference(page: string): string {
  return withGenerated(page, "settings", markdownTable(["setting", "default", "expects", "what it does"], rows([])));
}

function rows(path: readonly string[]): string[][] {
  return Object.entries(shapeAt(path)).flatMap(([key, schema]) => {
    const texts = settingTexts.get(schema);
    const setting = [...path, key];
    const below = rows(setting);
    if (texts === undefined) return below;
    const byDefault = texts.unset ?? `\`${texts.example}\``;
    return [[`\`${setting.join(".")}\``, byDefault, texts.expected, texts.description], ...below];
  });
}
