// Writes the kubectl plugin and its krew manifest for a release:
// `node scripts/krew.ts --source https://github.com/OWNER/REPOSITORY --folder release`.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { krewManifest, MANIFEST, writeArchive } from "./krew/plugin.ts";

const { values } = parseArgs({ options: { source: { type: "string" }, folder: { type: "string", default: "." } } });
if (values.source === undefined) throw new Error("--source is missing: the address of the repository");
const archive = await writeArchive(values.folder);
const manifest = join(values.folder, MANIFEST);
writeFileSync(manifest, krewManifest(archive, values.source));
process.stdout.write(`${archive}\n${manifest}\n`);
