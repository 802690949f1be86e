// Debian's prometheus and promtool, unpacked into the cache. Installing the package would start a service.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./binaries.ts";
import { holdLock } from "./lock.ts";
import { PrerequisiteError } from "./prerequisites.ts";
import type { Progress } from "./progress.ts";
import { run } from "./run.ts";

export interface PrometheusPrograms {
  readonly prometheus: string;
  readonly promtool: string;
}

export async function ensurePrometheus(progress: Progress): Promise<PrometheusPrograms> {
  const folder = join(cacheFolder(), "prometheus");
  if (!existsSync(folder)) await unpack(folder, progress);
  return { prometheus: join(folder, "usr/bin/prometheus"), promtool: join(folder, "usr/bin/promtool") };
}

async function unpack(folder: string, progress: Progress): Promise<void> {
  if (!existsSync("/usr/bin/apt-get")) {
    throw new PrerequisiteError(
      `This machine has no apt-get: copy prometheus and promtool (2.42 or newer) to ${folder}/usr/bin.`,
    );
  }
  mkdirSync(cacheFolder(), { recursive: true });
  const release = await holdLock(join(cacheFolder(), "prometheus.lock"), "unpacking prometheus");
  const temporary = mkdtempSync(join(cacheFolder(), "unpacking-"));
  try {
    // Another process may have unpacked it while this one waited for the lock.
    if (existsSync(folder)) return;
    const step = progress.step("unpacking prometheus");
    const download = ["sh", "-c", 'cd "$1" && apt-get download -q prometheus', "sh", temporary];
    try {
      run(download);
    } catch {
      // The list of packages is missing or old.
      run(["apt-get", "update", "-q"]);
      run(download);
    }
    const [archive = ""] = readdirSync(temporary);
    run(["dpkg", "-x", join(temporary, archive), join(temporary, "unpacked")]);
    renameSync(join(temporary, "unpacked"), folder);
    step.done();
  } finally {
    rmSync(temporary, { recursive: true, force: true });
    release();
  }
}
