// Reads the files, directories or standard input given by -f. A file that cannot be read does not hide the others.
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { RepriseError, reasonOf } from "../../errors.ts";
import { type InputDocument, readDocuments } from "./documents.ts";

const STDIN = "-";

/** The extensions that kubectl reads from a directory. */
const EXTENSIONS = /\.(ya?ml|json)$/i;

export interface Sources {
  readonly documents: readonly InputDocument[];
  /** Files and documents that cannot be read. */
  readonly problems: readonly RepriseError[];
}

/** The documents of all files. `recursive` includes the subdirectories of directories, as in kubectl. */
export async function readSources(names: readonly string[], recursive: boolean): Promise<Sources> {
  const documents: InputDocument[] = [];
  const problems: RepriseError[] = [];
  const collect = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      problems.push(error);
      return undefined;
    }
  };
  for (const name of names) {
    for (const file of (await collect(() => filesOf(name, recursive))) ?? []) {
      const content = await collect(() => contentOf(file));
      if (content === undefined) continue;
      const read = readDocuments(content, shownName(file));
      documents.push(...read.documents);
      problems.push(...read.problems);
    }
  }
  return { documents, problems };
}

/** What was read, for messages about input without a JobSet. */
export function summaryOf(names: readonly string[], { documents }: Sources): { files: string; documents: number } {
  const found = documents.filter(({ value }) => value !== null);
  return { files: names.map(shownName).join(", "), documents: found.length };
}

function contentOf(file: string): Promise<string> {
  return file === STDIN ? text(process.stdin) : reading(file, () => readFile(file, "utf8"));
}

async function filesOf(name: string, recursive: boolean): Promise<string[]> {
  if (name === STDIN) return [name];
  const isDirectory = await reading(name, async () => (await stat(name)).isDirectory());
  if (!isDirectory) return [name];
  const entries = await reading(name, () => readdir(name, { withFileTypes: true, recursive }));
  const files = entries.filter((entry) => !entry.isDirectory() && EXTENSIONS.test(entry.name));
  if (files.length === 0) {
    const hasDirectories = entries.some((entry) => entry.isDirectory());
    throw new RepriseError("INPUT_DIRECTORY_EMPTY", { directory: name, hasDirectories, recursive });
  }
  return files.map((entry) => join(entry.parentPath, entry.name)).sort();
}

async function reading<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new RepriseError("INPUT_UNREADABLE", { file, reason: reasonOf(error) }, { cause: error });
  }
}

function shownName(file: string): string {
  return file === STDIN ? "standard input" : file;
}
