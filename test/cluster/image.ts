// Builds a container image without a container engine: a docker-archive tar with one layer of local files.
import { createHash } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";

interface ImageFile {
  /** Absolute path in the image. */
  readonly path: string;
  /** Path of the file on this machine, or where a symbolic link points to. */
  readonly source: { readonly file: string } | { readonly linkTo: string };
}

export interface ImageRecipe {
  /** For example docker.io/local/pause:1. */
  readonly name: string;
  readonly files: readonly ImageFile[];
  readonly entrypoint: readonly string[];
  /** Numeric, so that the kubelet can check runAsNonRoot. */
  readonly user?: string;
}

const BLOCK = 512;
const EXECUTABLE = 0o755;

export function writeImage(recipe: ImageRecipe, archive: string): void {
  const layer = Buffer.concat([...recipe.files.flatMap(layerEntry), endOfTar()]);
  const digest = createHash("sha256").update(layer).digest("hex");
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === "x64" ? "amd64" : process.arch,
      os: "linux",
      config: { Entrypoint: recipe.entrypoint, User: recipe.user ?? "", Env: ["PATH=/usr/bin:/bin"] },
      rootfs: { type: "layers", diff_ids: [`sha256:${digest}`] },
    }),
  );
  const configName = `${createHash("sha256").update(config).digest("hex")}.json`;
  const manifest = [{ Config: configName, RepoTags: [recipe.name], Layers: ["layer.tar"] }];
  const tar = Buffer.concat([
    ...tarFile("layer.tar", layer),
    ...tarFile(configName, config),
    ...tarFile("manifest.json", Buffer.from(JSON.stringify(manifest))),
    endOfTar(),
  ]);
  const temporary = `${archive}.${process.pid}`;
  writeFileSync(temporary, tar);
  renameSync(temporary, archive);
}

function layerEntry(file: ImageFile): Buffer[] {
  const name = file.path.replace(/^\//, "");
  if ("linkTo" in file.source) return [tarHeader(name, 0, "2", file.source.linkTo)];
  return tarFile(name, readFileSync(file.source.file));
}

function tarFile(name: string, content: Buffer): Buffer[] {
  const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
  return [tarHeader(name, content.length, "0"), content, padding];
}

/** The ustar header. Times are zero, so that the same files give the same image. */
function tarHeader(name: string, size: number, type: "0" | "2", link = ""): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(name, 0, 100);
  header.write(octal(EXECUTABLE, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(0, 11), 136);
  header.write(" ".repeat(8), 148);
  header.write(type, 156);
  header.write(link, 157, 100);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

const endOfTar = (): Buffer => Buffer.alloc(2 * BLOCK);
