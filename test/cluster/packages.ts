// Programs of the operating system that a node needs. Missing ones are installed with apt.
import { existsSync } from "node:fs";
import { PrerequisiteError } from "./prerequisites.ts";
import type { Progress } from "./progress.ts";
import { run } from "./run.ts";

/** A file that proves the package is there → the Debian package. */
const PACKAGES: Readonly<Record<string, string>> = {
  "/usr/sbin/runc": "runc",
  "/usr/lib/cni/bridge": "containernetworking-plugins",
  "/usr/bin/busybox": "busybox-static",
  "/usr/bin/nsenter": "util-linux",
  "/usr/bin/mount": "mount",
  "/usr/sbin/ip": "iproute2",
};

export function ensurePackages(progress: Progress, packages = PACKAGES): void {
  const missing = Object.entries(packages).filter(
    ([file]) => !existsSync(file) && !existsSync(file.replace("/usr", "")),
  );
  if (missing.length === 0) return;
  const names = missing.map(([, name]) => name);
  if (!existsSync("/usr/bin/apt-get")) {
    throw new PrerequisiteError(
      `This machine lacks ${missing.map(([file]) => file).join(", ")} and has no apt-get: ` +
        `install the equivalent of the Debian packages ${names.join(", ")}.`,
    );
  }
  const step = progress.step(`installing ${names.join(", ")}`);
  run(["apt-get", "update", "-q"]);
  run(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends", ...names]);
  step.done();
}
