// Writes the table of the controller's rules in docs/architecture.md, in the order in which they are asked.
import { markdownTable, withGenerated } from "./generated-part.ts";

interface NamedRule {
  readonly name: string;
  /** Why it stands where it stands. */
  readonly why: string;
}

/** The page with its table updated. A rule's file has the rule's name. */
export function withRules(page: string, rules: readonly NamedRule[]): string {
  const rows = rules.map(({ name, why }, index) => [
    `${index + 1}`,
    `\`${name}\``,
    why,
    `\`controller/rules/${name}.ts\``,
  ]);
  return withGenerated(page, "controller rules", markdownTable(["", "rule", "why it stands here", "file"], rows));
}
