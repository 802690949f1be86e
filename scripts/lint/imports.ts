// Reads which files of the repository a file imports: statically, dynamically, for values or for types alone.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type ESTree, parseSync } from "vite";

interface Import {
  readonly line: number;
  /** From the root. */
  readonly target: string;
}

/** The files by path from the root, each with its imports of other files. Packages and data files are left out. */
export type ImportGraph = ReadonlyMap<string, readonly Import[]>;

const FOLDERS = "{src,agent,controller,scripts,bench,test}/**/*.ts";

export function readImports(root: string): ImportGraph {
  const files = globSync(FOLDERS, { cwd: root }).sort();
  return new Map(files.map((file) => [file, importsOf(root, file)]));
}

function importsOf(root: string, file: string): readonly Import[] {
  const text = readFileSync(join(root, file), "utf8");
  const { program, module } = parseSync(file, text);
  // Types count: a cycle of types is as hard to read as one of values.
  const declared = program.body.flatMap((node) => sourceOf(node));
  const dynamic = module.dynamicImports.map(({ moduleRequest: { start, end } }) => ({
    start,
    specifier: text.slice(start, end).replace(/^["'`]|["'`]$/g, ""),
  }));
  return [...declared, ...dynamic]
    .filter(({ specifier }) => specifier.startsWith(".") && specifier.endsWith(".ts"))
    .map(({ start, specifier }) => ({
      line: text.slice(0, start).split("\n").length,
      target: relative(root, resolve(root, dirname(file), specifier)),
    }));
}

function sourceOf(node: ESTree.Program["body"][number]): { start: number; specifier: string }[] {
  const isImport =
    node.type === "ImportDeclaration" || node.type === "ExportAllDeclaration" || node.type === "ExportNamedDeclaration";
  return isImport && node.source !== null ? [{ start: node.start, specifier: node.source.value }] : [];
}
