// Builds a container image without a container engine: a docker-archive tar with one layer of local files.
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { run } from "./run.ts";

interface ImageFile {
  /** Absolute path in the image. */
  readonly path: string;
  /** Path of the file on this machine, or where a symbolic link points to. */
  readonly source: { readonly file: string } | { readonly linkTo: string };
}

interface ImageSettings {
  /** For example docker.io/local/pause:1. */
  readonly name: string;
  readonly entrypoint: readonly string[];
  /** Numeric, so that the kubelet can check runAsNonRoot. */
  readonly user?: string;
  /** NAME=value, besides PATH. */
  readonly env?: readonly string[];
}

export interface ImageRecipe extends ImageSettings {
  readonly files: readonly ImageFile[];
}

const BLOCK = 512;
const EXECUTABLE = 0o755;

export function writeImage(recipe: ImageRecipe, archive: string): void {
  const layer = Buffer.concat([...recipe.files.flatMap(layerEntry), endOfTar()]);
  const digest = createHash("sha256").update(layer).digest("hex");
  const { config, configName, manifest } = describe(recipe, digest);
  const tar = Buffer.concat([
    ...tarFile("layer.tar", layer),
    ...tarFile(configName, config),
    ...tarFile("manifest.json", manifest),
    endOfTar(),
  ]);
  const temporary = `${archive}.${process.pid}`;
  writeFileSync(temporary, tar);
  renameSync(temporary, archive);
}

/** The same for a whole root filesystem, which may be too large for memory. */
export function packImage(settings: ImageSettings, root: string, archive: string): void {
  const folder = mkdtempSync(join(dirname(archive), "packing-"));
  try {
    const layer = join(folder, "layer.tar");
    const owner = ["--owner=0", "--group=0", "--numeric-owner"];
    run(["tar", "--create", "--sort=name", "--mtime=@0", ...owner, "--directory", root, "--file", layer, "."]);
    const [digest = ""] = run(["sha256sum", layer]).split(" ");
    const { config, configName, manifest } = describe(settings, digest);
    // Nodes keep the layer as it is here, beside its files, in memory.
    run(["gzip", "-1", "--no-name", layer]);
    renameSync(`${layer}.gz`, layer);
    writeFileSync(join(folder, configName), config);
    writeFileSync(join(folder, "manifest.json"), manifest);
    const tar = join(folder, "image.tar");
    run(["tar", "--create", "--file", tar, "--directory", folder, "layer.tar", configName, "manifest.json"]);
    renameSync(tar, archive);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function describe({ name, entrypoint, user = "", env = [] }: ImageSettings, layerDigest: string) {
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === "x64" ? "amd64" : process.arch,
      os: "linux",
      config: { Entrypoint: entrypoint, User: user, Env: ["PATH=/usr/bin:/bin", ...env] },
      rootfs: { type: "layers", diff_ids: [`sha256:${layerDigest}`] },
    }),
  );
  const configName = `${createHash("sha256").update(config).digest("hex")}.json`;
  const manifest = Buffer.from(JSON.stringify([{ Config: configName, RepoTags: [name], Layers: ["layer.tar"] }]));
  return { config, configName, manifest };
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
