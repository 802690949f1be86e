// What the machine must provide, checked before anything changes. Each error is one sentence that says what to do.
import { spawnSync } from "node:child_process";

const MINIMUM_GO = [1, 26] as const;

/** Something is missing on this machine. The message is for the user. */
export class PrerequisiteError extends Error {
  override readonly name = "PrerequisiteError";
}

export interface Machine {
  readonly platform: string;
  readonly uid: number | undefined;
  /** The output of `go version`, or undefined without Go. */
  readonly goVersion: string | undefined;
}

export function thisMachine(): Machine {
  const go = spawnSync("go", ["version"], { encoding: "utf8" });
  return {
    platform: process.platform,
    uid: process.getuid?.(),
    goVersion: go.status === 0 ? go.stdout.trim() : undefined,
  };
}

export function checkLinux(machine: Machine): void {
  if (machine.platform !== "linux") {
    throw new PrerequisiteError(
      `The local cluster needs Linux, and this is ${machine.platform}: run it on a Linux machine or in a Linux VM.`,
    );
  }
}

export function checkRoot(machine: Machine): void {
  if (machine.uid !== 0) {
    throw new PrerequisiteError(
      "The local cluster needs root, because it runs a real kubelet and containerd in their own namespaces: " +
        "run it again with sudo.",
    );
  }
}

/** Only a build needs Go. A machine with a filled cache does not. */
export function checkGo(machine: Machine): void {
  const wanted = MINIMUM_GO.join(".");
  if (machine.goVersion === undefined) {
    throw new PrerequisiteError(
      `Go is not on PATH, and the Kubernetes programs have to be built once: ` +
        `install Go ${wanted} or newer and run this again.`,
    );
  }
  const [, major = "0", minor = "0"] = /go(\d+)\.(\d+)/.exec(machine.goVersion) ?? [];
  const isOld = Number(major) < MINIMUM_GO[0] || (Number(major) === MINIMUM_GO[0] && Number(minor) < MINIMUM_GO[1]);
  if (isOld) {
    throw new PrerequisiteError(
      `Go ${major}.${minor} is too old to build Kubernetes 1.36: ` +
        `install Go ${wanted} or newer and put it first on PATH.`,
    );
  }
}
