// Writes the tables in docs/annotations.md from the names and their texts.
import { ANNOTATION_TEXTS, type AnnotationText, LABEL_TEXTS } from "../../src/api/annotation-texts.ts";
import { ANNOTATION, LABEL } from "../../src/api/names.ts";
import { markdownTable, withGenerated } from "./generated-part.ts";

/** The page with its tables updated. */
export function withAnnotations(page: string): string {
  const annotations = withGenerated(page, "annotations", table("annotation", ANNOTATION, ANNOTATION_TEXTS));
  return withGenerated(annotations, "labels", table("label", LABEL, LABEL_TEXTS));
}

function table<K extends string>(
  kind: string,
  names: Readonly<Record<K, string>>,
  texts: Readonly<Record<K, AnnotationText>>,
): string {
  const rows = Object.entries<AnnotationText>(texts).map(([key, text]) => {
    const name = names[key as K];
    return [
      `\`${name}\``,
      text.on,
      text.values,
      text.byDefault,
      `\`${name}: ${JSON.stringify(text.example)}\``,
      `${text.description} ([more](${text.section}))`,
    ];
  });
  return markdownTable([kind, "on", "values", "without it", "example", "what it does"], rows);
}
