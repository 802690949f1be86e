// Builds the image with the engine of this machine: `npm run build:image -- --tag registry.example/reprise:1 --arch amd64 --arch arm64`.
// Several architectures give one image each, named <tag>-<arch>. The build itself is the Dockerfile's; this only calls it.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { VERSION } from "../src/api/version.ts";
import { type Arch, nativeArch, readArchs } from "./architectures.ts";

const ROOT = join(import.meta.dirname, "..");

/** In the order in which they are tried. Each answers "info" only if it can really build: a client without its engine cannot. */
const ENGINES = ["docker", "podman", "buildah"] as const;
type Engine = (typeof ENGINES)[number];

export interface ImageBuild {
  readonly engine: Engine;
  readonly arch: Arch;
  readonly tag: string;
  /** What the stages start from instead of the public images of the Dockerfile. */
  readonly bases?: { readonly build?: string | undefined; readonly final?: string | undefined };
  readonly env?: NodeJS.ProcessEnv;
  readonly quiet?: boolean;
}

export function buildImage({ engine, arch, tag, bases = {}, env, quiet = false }: ImageBuild): void {
  const args = [
    "build",
    `--platform=linux/${arch}`,
    `--tag=${tag}`,
    // Each step is a layer of its own, kept for the next build; docker and podman do so by themselves.
    ...(engine === "buildah" ? ["--layers"] : []),
    // Known to docker; older versions of the others have to be told.
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
  const said = quiet ? `:\n${stderr.trim().split("\n").slice(-20).join("\n")}` : "";
  throw new Error(`${engine} could not build ${tag} for ${arch}${said}`, { cause: error });
}

function readEngine(name: string | undefined): Engine {
  const known = ENGINES.find((engine) => engine === name);
  if (known !== undefined) return known;
  if (name !== undefined) throw new Error(`--engine ${name} is unknown: it takes ${ENGINES.join(", ")}`);
  const found = ENGINES.find((engine) => spawnSync(engine, ["info"], { stdio: "ignore" }).status === 0);
  if (found === undefined)
    throw new Error(`none of ${ENGINES.join(", ")} answers on this machine: install or start one`);
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
