// Turns a manifest into a Helm template by literal replacements, so that the comments and the order of the manifest
// stay. A replacement that does not fit the manifest anymore is an error: the chart must not lose a value silently.

/** Text of the manifest, which occurs exactly once, and what the template has instead. */
export type Edit = readonly [manifest: string | RegExp, template: string];

/** The labels that manifests/default/kustomization.yaml adds to every object. */
const LABELS = ["app.kubernetes.io/name: reprise", "app.kubernetes.io/part-of: reprise"];

export function toTemplate(manifest: string, edits: readonly Edit[]): string {
  // Braces of the manifest are for Prometheus.
  const edited = edits.reduce(replaceOnce, manifest.replaceAll("{{", '{{ "{{" }}'));
  return edited
    .split(/^---$/m)
    .map((document) => inReleaseNamespace(withLabels(document)))
    .join("---");
}

function replaceOnce(text: string, [manifest, template]: Edit): string {
  const parts = text.split(manifest);
  if (parts.length !== 2) throw new Error(`found ${parts.length - 1} times instead of once: ${manifest}`);
  return parts.join(template);
}

function withLabels(document: string): string {
  const [before, metadata, after] = split(document, /^metadata:\n(?: {2}.*\n)+/m);
  if (metadata === "") throw new Error(`no metadata in: ${document}`);
  const lines = LABELS.map((label) => `    ${label}\n`).join("");
  const labeled = metadata.includes("\n  labels:\n")
    ? metadata.replace("\n  labels:\n", `\n  labels:\n${lines}`)
    : metadata.replace(/^ {2}name: .*\n/m, (name) => `${name}  labels:\n${lines}`);
  return before + labeled + after;
}

/** The manifests name one namespace, a release may have another. Comments keep it. */
function inReleaseNamespace(document: string): string {
  return document.replaceAll(/^(?!\s*#).*reprise-system.*$/gm, (line) => {
    return line.replaceAll("reprise-system", "{{ .Release.Namespace }}");
  });
}

function split(text: string, pattern: RegExp): readonly [before: string, match: string, after: string] {
  const match = pattern.exec(text);
  if (match === null) return [text, "", ""];
  return [text.slice(0, match.index), match[0], text.slice(match.index + match[0].length)];
}

/** The template only if the condition holds. */
export function onlyIf(condition: string, template: string): string {
  return `{{- if ${condition} }}\n${template.trimEnd()}\n{{- end }}\n`;
}
