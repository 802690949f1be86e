// Builds the base images of the Dockerfile's stages from Debian packages, without a registry. The final one is like the
// public "distroless" image: glibc, libstdc++ and no program. Packages are unpacked and never configured, so images for
// another architecture can be built too.
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Arch, nativeArch, nodeFor } from "../../scripts/architectures.ts";
import type { Progress } from "../cluster/progress.ts";
import { run } from "../cluster/run.ts";
import { buildah, imageExists } from "./buildah.ts";

const SUITE = "bookworm";
/** To be changed with what follows, because the bases are kept by it. */
const RECIPE = "2";
const LIBRARIES = ["base-files", "libc6", "libgcc-s1", "libstdc++6"];
/** What npm and the scripts of packages call. */
const BUILD_TOOLS = ["dash", "coreutils", "sed", "grep"];

/** The image with what runs, for one architecture. */
export function finalBase(arch: Arch, progress: Progress): string {
  const name = `localhost/reprise-base:${key(LIBRARIES, arch)}`;
  return ensure({ name, arch }, progress, (root) => unpack(LIBRARIES, arch, root));
}

/** The image with what builds: this machine's own npm, on the Node that the project pins. */
export function buildBase(progress: Progress): string {
  const npm = dirname(dirname(run(["readlink", "-f", run(["which", "npm"]).trim()]).trim()));
  const npmVersion = run(["npm", "--version"]).trim();
  const arch = nativeArch();
  const name = `localhost/reprise-build-base:${key([...LIBRARIES, ...BUILD_TOOLS, npmVersion, process.version], arch)}`;
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", NODE_EXTRA_CA_CERTS: CERTIFICATES };
  return ensure({ name, arch, env }, progress, (root) => {
    unpack([...LIBRARIES, ...BUILD_TOOLS], arch, root);
    const local = join(root, "usr", "local");
    mkdirSync(join(local, "lib", "node_modules"), { recursive: true });
    mkdirSync(join(local, "bin"), { recursive: true });
    cpSync(nodeFor(arch), join(local, "bin", "node"));
    cpSync(npm, join(local, "lib", "node_modules", "npm"), { recursive: true, dereference: true });
    symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(local, "bin", "npm"));
    // Who this machine trusts: it may reach the package registry through a mirror of its own.
    mkdirSync(join(root, "etc", "ssl", "certs"), { recursive: true });
    cpSync(CERTIFICATES, join(root, CERTIFICATES));
  });
}

export const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";

interface Base {
  readonly name: string;
  readonly arch: Arch;
  readonly env?: Readonly<Record<string, string>>;
}

function ensure({ name, arch, env = {} }: Base, progress: Progress, fill: (root: string) => void): string {
  if (imageExists(name)) return name;
  const step = progress.step(`making ${name}`);
  const root = mkdtempSync(join(tmpdir(), "reprise-base-"));
  try {
    fill(root);
    const container = buildah(["from", `--arch=${arch}`, "scratch"]);
    buildah(["add", "--quiet", container, root, "/"]);
    const settings = Object.entries(env).map(([key, value]) => `--env=${key}=${value}`);
    buildah(["config", `--arch=${arch}`, ...settings, container]);
    buildah(["commit", "--quiet", "--rm", container, name]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  step.done();
  return name;
}

function unpack(packages: readonly string[], arch: Arch, root: string): void {
  const flags = ["--variant=extract", `--architectures=${arch}`, `--include=${packages.join(",")}`, "--quiet"];
  // What is left of apt, dpkg and documentation is no part of a program's image.
  const left = ["etc/apt", "var/lib/apt", "var/cache/apt", "var/lib/dpkg", "usr/share/doc", "usr/share/man"];
  const archive = `${root}.tar`;
  try {
    run(["mmdebstrap", ...flags, SUITE, archive]);
    const excludes = ["dev", ...left].map((path) => `--exclude=./${path}/*`);
    run(["tar", "--extract", "--file", archive, "--directory", root, ...excludes]);
  } finally {
    rmSync(archive, { force: true });
  }
}

function key(parts: readonly string[], arch: Arch): string {
  return `${arch}-${createHash("sha256")
    .update([RECIPE, SUITE, ...parts].join())
    .digest("hex")
    .slice(0, 12)}`;
}
