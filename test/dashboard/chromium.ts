// A Chromium for tests. One that the machine has is used; otherwise Debian's package and what it lacks are unpacked
// into the cache, so that the system stays as it is.
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { cacheFolder } from "../cluster/binaries.ts";
import { holdLock } from "../cluster/lock.ts";
import { PrerequisiteError } from "../cluster/prerequisites.ts";
import type { Progress } from "../cluster/progress.ts";
import { run } from "../cluster/run.ts";

const INSTALLED = ["/usr/lib/chromium/chromium", "/usr/bin/google-chrome", "/usr/bin/chrome"];

/** Text needs a font. */
const PACKAGES = ["chromium", "fonts-dejavu-core"];

const FOLDER = () => join(cacheFolder(), "chromium");

/** The libraries that the packages bring, and the place of their fonts. */
interface Place {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
}

export async function ensureChromium(progress: Progress): Promise<Place> {
  const installed = INSTALLED.find((file) => existsSync(file));
  if (installed !== undefined) return { program: installed, env: {} };
  if (!existsSync(FOLDER())) await unpack(progress);
  const folder = FOLDER();
  const libraries = new Set(globSync(`${folder}/usr/lib/*-linux-gnu/**/*.so*`).map((file) => dirname(file)));
  return {
    program: join(folder, "usr/lib/chromium/chromium"),
    env: { LD_LIBRARY_PATH: [...libraries].join(":"), XDG_DATA_DIRS: `${folder}/usr/share:/usr/share` },
  };
}

/** Without a sandbox of its own, because tests run as root and open pages of this repository only. */
export async function launch(progress: Progress, args: readonly string[] = []): Promise<Browser> {
  const { program, env } = await ensureChromium(progress);
  return await chromium.launch({
    executablePath: program,
    env: { ...(process.env as Record<string, string>), ...env },
    args: ["--no-sandbox", "--disable-dev-shm-usage", ...args],
  });
}

async function unpack(progress: Progress): Promise<void> {
  if (!existsSync("/usr/bin/apt-get")) {
    throw new PrerequisiteError("This machine has no Chromium and no apt-get: install Chromium or Google Chrome.");
  }
  mkdirSync(cacheFolder(), { recursive: true });
  const release = await holdLock(join(cacheFolder(), "chromium.lock"), "unpacking Chromium");
  const temporary = mkdtempSync(join(cacheFolder(), "unpacking-"));
  try {
    // Another process may have unpacked it while this one waited for the lock.
    if (existsSync(FOLDER())) return;
    const step = progress.step("unpacking Chromium");
    run(["apt-get", "update", "-q"]);
    const plan = run(["apt-get", "install", "--print-uris", "-q", "-y", "--no-install-recommends", ...PACKAGES]);
    const missing = [...plan.matchAll(/^'[^']+' ([^_ ]+)_/gm)].map(([, name = ""]) => name);
    const root = join(temporary, "root");
    run(["sh", "-c", 'cd "$0" && apt-get download -q "$@"', temporary, ...missing]);
    for (const file of globSync(`${temporary}/*.deb`)) run(["dpkg-deb", "-x", file, root]);
    if (!existsSync(join(root, "usr/lib/chromium/chromium"))) {
      throw new PrerequisiteError(
        "apt-get has no Chromium of Debian for this machine: install Chromium or Google Chrome.",
      );
    }
    renameSync(root, FOLDER());
    step.done();
  } finally {
    rmSync(temporary, { recursive: true, force: true });
    release();
  }
}
