// The bundled CLI as users run it: a child process with its output and exit code. For tests only.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll } from "vitest";
import { bundleCli } from "../../scripts/bundle.ts";

interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Start {
  readonly script?: string;
  /** Code that runs first in the new process, for conditions that cannot be provoked from outside. */
  readonly preload?: string;
}

export class BundledCli {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async build(): Promise<BundledCli> {
    const folder = await mkdtemp(join(tmpdir(), "reprise-cli-"));
    await bundleCli(folder);
    return new BundledCli(folder);
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true });
  }

  /** Writes a file next to the bundle, the working directory of commands. Returns its name. */
  async file(name: string, content: string): Promise<string> {
    await writeFile(join(this.folder, name), content);
    return name;
  }

  async run(
    args: readonly string[],
    stdin = "",
    { script = "reprise.js", preload }: Start = {},
  ): Promise<CommandResult> {
    const flags = preload === undefined ? [] : ["--import", `data:text/javascript,${encodeURIComponent(preload)}`];
    const child = spawn(process.execPath, [...flags, join(this.folder, script), ...args], {
      cwd: this.folder,
      // No KUBECONFIG and an empty home directory: results must not depend on the machine.
      env: { PATH: process.env["PATH"], HOME: this.folder },
    });
    // A command that fails before it reads closes stdin early.
    child.stdin.on("error", () => {});
    child.stdin.end(stdin);
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return { code: Number(code), stdout, stderr };
  }
}

/** Each test starts processes, on a machine that may be busy with other tests. */
export const SLOW = { timeout: 120_000 };

/** One bundle for all tests of a file, removed after the last. */
export function bundledCli(): Pick<BundledCli, "file" | "run"> & { readonly folder: string } {
  let cli: BundledCli | undefined;
  const built = () => {
    if (cli === undefined) throw new Error("the bundle exists only while tests run");
    return cli;
  };
  beforeAll(async () => {
    cli = await BundledCli.build();
  }, 60_000);
  afterAll(() => cli?.remove());
  return {
    get folder() {
      return built().folder;
    },
    file: (name, content) => built().file(name, content),
    run: (...args) => built().run(...args),
  };
}
