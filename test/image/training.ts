// Images with Python and a framework for training on CPUs: Debian's PyTorch, and JAX from the Python registry on
// Debian's Python. Made once and kept in the cache.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "../cluster/binaries.ts";
import { packImage } from "../cluster/image.ts";
import { holdLock } from "../cluster/lock.ts";
import { ensurePackages } from "../cluster/packages.ts";
import { PrerequisiteError } from "../cluster/prerequisites.ts";
import type { Progress } from "../cluster/progress.ts";
import { run } from "../cluster/run.ts";

export const FRAMEWORKS = ["pytorch", "jax"] as const;
export type Framework = (typeof FRAMEWORKS)[number];

const SUITE = "bookworm";
/** The suite's. */
const PYTHON = "3.11";
const PACKAGES_FOLDER = "usr/lib/python3/dist-packages";
/** To be changed with what follows, because the images are kept by it. */
const RECIPE = "2";

const MACHINE = process.arch === "x64" ? "x86_64" : "aarch64";

interface Recipe {
  readonly packages: readonly string[];
  /** Python packages with their versions, in a file beside this one. */
  readonly requirements?: string;
  readonly env?: readonly string[];
}

const RECIPES: Readonly<Record<Framework, Recipe>> = {
  pytorch: {
    packages: ["base-files", "dash", "python3", "python3-torch"],
    // What the packages' scripts would link to: the packages are unpacked and never configured.
    env: [`LD_LIBRARY_PATH=${["blas", "lapack"].map((name) => `/usr/lib/${MACHINE}-linux-gnu/${name}`).join(":")}`],
  },
  jax: {
    packages: ["base-files", "dash", "python3", "libstdc++6"],
    requirements: "jax-requirements.txt",
  },
};

/** Hundreds of megabytes that these packages bring and no program here loads: documentation, tests, video, graphics. */
const LEFT_OUT = [
  "dev/*",
  "etc/apt/*",
  "var/cache/*",
  "var/lib/apt/*",
  "var/lib/dpkg/*",
  "usr/include/*",
  "usr/lib/libtorch-test/*",
  `${PACKAGES_FOLDER}/torch/bin/*[tT]est*`,
  `${PACKAGES_FOLDER}/torch/include/*`,
  "usr/lib/*/dri/*",
  "usr/lib/*/libLLVM*",
  "usr/lib/*/libz3*",
  "usr/lib/*/mfx/*",
  "usr/share/doc/*",
  "usr/share/icons/*",
  "usr/share/locale/*",
  "usr/share/man/*",
  "usr/share/proj/*",
];

export const trainingImage = (framework: Framework): string => `docker.io/local/${framework}:1`;

/** Returns the path of a docker-archive. */
export async function trainingArchive(framework: Framework, progress: Progress): Promise<string> {
  const folder = join(cacheFolder(), "images", "training");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${framework}-${key(framework)}.tar`);
  if (existsSync(file)) return file;
  ensurePackages(progress, { "/usr/bin/mmdebstrap": "mmdebstrap", "/usr/bin/tar": "tar" });
  const release = await holdLock(join(folder, `${framework}.lock`), `making the image ${trainingImage(framework)}`);
  try {
    // Another process may have made it while this one waited for the lock.
    if (existsSync(file)) return file;
    for (const name of readdirSync(folder).filter((each) => each.startsWith(`${framework}-`))) {
      rmSync(join(folder, name));
    }
    make(framework, file, progress);
    return file;
  } finally {
    release();
  }
}

function make(framework: Framework, file: string, progress: Progress): void {
  const { packages, requirements, env = [] } = RECIPES[framework];
  const step = progress.step(`making the image ${trainingImage(framework)}`);
  const folder = mkdtempSync(`${file}.`);
  try {
    const root = join(folder, "root");
    mkdirSync(root);
    const archive = join(folder, "packages.tar");
    run(["mmdebstrap", "--variant=extract", `--include=${packages.join(",")}`, "--quiet", SUITE, archive]);
    const excludes = LEFT_OUT.map((path) => `--exclude=./${path}`);
    run(["tar", "--extract", "--file", archive, "--directory", root, ...excludes]);
    rmSync(archive);
    if (requirements !== undefined) installPython(root, requirements);
    // Else every container compiles what it imports, each time it starts. The image has no times to compare.
    const compile = ["-m", "compileall", "-q", "--invalidation-mode=unchecked-hash"];
    run(["chroot", root, "/usr/bin/python3", ...compile, `/${PACKAGES_FOLDER}`, `/usr/lib/python${PYTHON}`]);
    packImage(
      { name: trainingImage(framework), entrypoint: ["/usr/bin/python3"], user: "65532", env: ["HOME=/tmp", ...env] },
      root,
      file,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  step.done();
}

/** With this machine's pip, for the Python of the image. */
function installPython(root: string, requirements: string): void {
  const platforms = ["manylinux_2_27", "manylinux_2_28"].map((libc) => `--platform=${libc}_${MACHINE}`);
  const target = ["--implementation=cp", `--python-version=${PYTHON}`, ...platforms, "--only-binary=:all:"];
  const quiet = ["--quiet", "--no-deps", "--no-compile", "--root-user-action=ignore"];
  const folder = ["--target", join(root, PACKAGES_FOLDER)];
  run([...pip(), "install", ...quiet, ...target, ...folder, "--requirement", join(import.meta.dirname, requirements)]);
}

function pip(): readonly string[] {
  const command = ["python3", "-m", "pip"];
  try {
    run([...command, "--version"]);
  } catch (error) {
    throw new PrerequisiteError(
      "Python packages are installed with pip, and python3 of this machine has none: install python3-pip.",
      { cause: error },
    );
  }
  return command;
}

function key(framework: Framework): string {
  const { requirements } = RECIPES[framework];
  const versions = requirements === undefined ? "" : readFileSync(join(import.meta.dirname, requirements), "utf8");
  const recipe = JSON.stringify([RECIPE, SUITE, MACHINE, RECIPES[framework], LEFT_OUT, versions]);
  return createHash("sha256").update(recipe).digest("hex").slice(0, 12);
}
