// Builds the image with this machine's container engine: `npm run build:image -- --tag registry.example/reprise:1
// --arch amd64 --arch arm64`. Several architectures become one tag: an index that names an image for each. The
// Dockerfile defines the build; this only runs it.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { VERSION } from "../src/api/version.ts";
import { type Arch, nativeArch, readArchs } from "./architectures.ts";

const ROOT = join(import.meta.dirname, "..");

/** Tried in this order. "info" succeeds only if the engine can build: a client without its daemon cannot. */
const ENGINES = ["docker", "podman", "buildah"] as const;
type Engine = (typeof ENGINES)[number];

interface Build {
  readonly engine: Engine;
  readonly tag: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly quiet?: boolean;
}

/** Instead of the public base images in the Dockerfile. */
interface Bases {
  readonly build?: string | undefined;
  readonly final?: string | undefined;
}

interface ImageBuild extends Build {
  readonly arch: Arch;
  readonly bases?: Bases;
}

interface IndexBuild extends Build {
  readonly archs: readonly Arch[];
  /** Docker builds all architectures at once, so it takes the bases of the first. */
  readonly bases?: (arch: Arch) => Bases;
}

export function buildImage({ arch, bases = {}, ...build }: ImageBuild): void {
  runBuild(build, [`--platform=linux/${arch}`, `--tag=${build.tag}`], bases);
}

/** One tag for several architectures: every node pulls the image of its own. */
export function buildIndex({ archs, bases = () => ({}), ...build }: IndexBuild): void {
  const { engine, tag, env } = build;
  const [first] = archs;
  if (first === undefined) throw new Error("an index needs an architecture");
  if (engine === "docker") {
    const platforms = archs.map((arch) => `linux/${arch}`).join();
    runBuild(build, [`--platform=${platforms}`, `--tag=${tag}`], bases(first));
    return;
  }
  // Images would be added to an index of that name. That there is none is no failure.
  spawnSync(engine, ["manifest", "rm", tag], { stdio: "ignore", env: { ...process.env, ...env } });
  for (const arch of archs) runBuild(build, [`--platform=linux/${arch}`, `--manifest=${tag}`], bases(arch));
}

function runBuild({ engine, tag, env, quiet = false }: Build, target: readonly string[], bases: Bases): void {
  const args = [
    "build",
    ...target,
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
  throw new Error(`${engine} failed to build ${tag} (${target.join(" ")})${output}`, { cause: error });
}

function readEngine(name: string | undefined): Engine {
  const known = ENGINES.find((engine) => engine === name);
  if (known !== undefined) return known;
  if (name !== undefined) throw new Error(`unknown --engine ${name}: use ${ENGINES.join(", ")}`);
  const found = ENGINES.find((engine) => spawnSync(engine, ["info"], { stdio: "ignore" }).status === 0);
  if (found === undefined) throw new Error(`no container engine found: install or start one of ${ENGINES.join(", ")}`);
  return found;
}

function pushOfIndex(engine: Engine, tag: string): string {
  return `${engine} manifest push --all ${tag} docker://${tag}`;
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
  const { tag, base: final, "build-base": build } = values;
  const [arch, ...others] = archs;
  if (arch !== undefined && others.length === 0) buildImage({ engine, arch, tag, bases: { build, final } });
  else buildIndex({ engine, archs, tag, bases: () => ({ build, final }) });
  const push = others.length === 0 || engine === "docker" ? `${engine} push ${tag}` : pushOfIndex(engine, tag);
  const platforms = archs.map((each) => `linux/${each}`).join(", ");
  process.stdout.write(`${tag} (${platforms}, by ${engine}); push it with: ${push}\n`);
}
