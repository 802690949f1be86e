// Finds lines over 120 columns in what people read and write. Two windows side by side show 120 columns each.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const LIMIT = 120;

export interface LongLine {
  readonly file: string;
  readonly line: number;
  readonly columns: number;
}

/** Written by programs, or kept as it came from elsewhere. */
const GENERATED =
  /(^|\/)(package-lock\.json|go\.(mod|sum)|LICENSE)$|\.svg$|^test\/golden\/|^charts\/\w+\/templates\/\w+\//;

export function findLongLines(root: string): readonly LongLine[] {
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0");
  return files
    .filter((file) => /\.(ts|md|ya?ml|go)$|(^|\/)Dockerfile$/.test(file) && !GENERATED.test(file))
    .flatMap((file) => longLinesIn(file, readFileSync(join(root, file), "utf8")));
}

export function longLinesIn(file: string, text: string): readonly LongLine[] {
  let inConsole = false;
  return text.split("\n").flatMap((content, index) => {
    if (content.startsWith("```")) inConsole = content === "```console";
    const columns = [...content].length;
    // What a program prints is quoted as it is.
    const isOutput = inConsole && !content.startsWith("$ ");
    return columns <= LIMIT || isOutput || cannotBreak(file, content) ? [] : [{ file, line: index + 1, columns }];
  });
}

/** A row of a Markdown table and an image are one line by their syntax, and an address has no place to break it. */
function cannotBreak(file: string, content: string): boolean {
  if (file.endsWith(".md") && /^\s*(\||!\[)/.test(content)) return true;
  return /^\s*\S+$/.test(content) || (/https?:\/\/\S{60,}/.test(content) && content.trim().split(/\s+/).length <= 3);
}
