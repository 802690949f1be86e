// Builds the image with this machine's container engine: `npm run build:image -- --tag registry.example/reprise:1
// --arch amd64 --arch arm64`. Several architectures give one image each, named <tag>-<arch>. The Dockerfile defines the
// build; this only runs it.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { VERSION } from "../src/api/version.ts";
import { type Arch, nativeArch, readArchs } from "./architectures.ts";

const ROOT = join(import.meta.dirname, "..");

/** Tried in this order. "info" succeeds only if the engine can build: a client without its daemon cannot. */
const ENGINES = ["docker", "podman", "buildah"] as const;
type Engine = (typeof ENGINES)[number];

export interface ImageBuild {
  readonly engine: Engine;
  readonly arch: Arch;
  readonly tag: string;
  /** Base images, instead of the public ones in the Dockerfile. */
  readonly bases?: { readonly build?: string | undefined; readonly final?: string | undefined };
  readonly env?: NodeJS.ProcessEnv;
  readonly quiet?: boolean;
}

export function buildImage({ engine, arch, tag, bases = {}, env, quiet = false }: ImageBuild): void {
  const args = [
    "build",
    `--platform=linux/${arch}`,
    `--tag=${tag}`,
    // Caches each step for the next build; docker and podman do so by default.
    ...(engine === "buildah" ? ["--layers"] : []),
    // Docker sets it; older versions of the others do not.
    ...(engine === "docker" ? [] : ["--build-arg", `BUILDPLATFORM=linux/${nativeArch()}`]),
    ...(bases.build === undefined ? [] : ["--build-arg", `BUILD_BASE=${bases.build}`]),
    ...(bases.final === undefined ? [] : ["--build-arg", `BASE=${bases.final}`]),
    ROOT,
  ];
  const { status, error, stderr } = spawnSync(engine, args, {
    stdio: quiet ? ["ignore", "ignore", "pipe"] : "inherit",
    encoding: "utf8",
    maxBuffer: 64 << 20,
    env: { ...process.env, ...env },
  });
  if (status === 0) return;
  const output = quiet ? `:\n${stderr.trim().split("\n").slice(-20).join("\n")}` : "";
  throw new Error(`${engine} failed to build ${tag} for ${arch}${output}`, { cause: error });
}

function readEngine(name: string | undefined): Engine {
  const known = ENGINES.find((engine) => engine === name);
  if (known !== undefined) return known;
  if (name !== undefined) throw new Error(`unknown --engine ${name}: use ${ENGINES.join(", ")}`);
  const found = ENGINES.find((engine) => spawnSync(engine, ["info"], { stdio: "ignore" }).status === 0);
  if (found === undefined) throw new Error(`no container engine found: install or start one of ${ENGINES.join(", ")}`);
  return found;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      arch: { type: "string", multiple: true, default: [nativeArch()] },
      tag: { type: "string", default: `reprise:${VERSION}` },
      engine: { type: "string" },
      base: { type: "string" },
      "build-base": { type: "string" },
    },
  });
  const archs = readArchs(values.arch);
  const engine = readEngine(values.engine);
  for (const arch of archs) {
    const tag = archs.length === 1 ? values.tag : `${values.tag}-${arch}`;
    buildImage({ engine, arch, tag, bases: { build: values["build-base"], final: values.base } });
    process.stdout.write(`${tag} (linux/${arch}, by ${engine})\n`);
  }
}
