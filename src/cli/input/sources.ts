// Reads the files, directories or standard input given by -f.
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { RepriseError, reasonOf } from "../../errors.ts";
import { type InputDocument, readDocuments } from "./documents.ts";

const STDIN = "-";

/** The extensions that kubectl reads from a directory. */
const EXTENSIONS = /\.(ya?ml|json)$/i;

/** The documents of all files. Throws if there is no JobSet among them. */
export async function readSources(names: readonly string[]): Promise<InputDocument[]> {
  const documents: InputDocument[] = [];
  for (const name of names) {
    for (const file of await filesOf(name)) documents.push(...(await documentsOf(file)));
  }
  if (documents.every(({ jobSets }) => jobSets.length === 0)) {
    const files = names.map(shownName).join(", ");
    throw new RepriseError("INPUT_WITHOUT_JOBSET", { files, documents: documents.length });
  }
  return documents;
}

async function documentsOf(file: string): Promise<InputDocument[]> {
  const content = file === STDIN ? await text(process.stdin) : await reading(file, () => readFile(file, "utf8"));
  const documents = readDocuments(content, shownName(file));
  if (documents.every(({ value }) => value === null)) throw new RepriseError("INPUT_EMPTY", { file: shownName(file) });
  return documents;
}

async function filesOf(name: string): Promise<string[]> {
  if (name === STDIN) return [name];
  const isDirectory = await reading(name, async () => (await stat(name)).isDirectory());
  if (!isDirectory) return [name];
  const entries = await reading(name, () => readdir(name, { withFileTypes: true }));
  const files = entries.filter((entry) => !entry.isDirectory() && EXTENSIONS.test(entry.name));
  return files.map((entry) => join(name, entry.name)).sort();
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
