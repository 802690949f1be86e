// Runs the console blocks of the documentation as a reader does: with bash, in a checkout, against a cluster.
import { spawn } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { bundleCli } from "../../scripts/bundle.ts";

interface Command {
  /** The heading above it, without marks. */
  readonly section: string;
  /** One command, without its prompt and its comment. Lines that continue it are part of it. */
  readonly text: string;
}

/** The commands in the console blocks of a page, in order. Lines without a prompt are output. */
export function consoleCommands(page: string): readonly Command[] {
  const commands: Command[] = [];
  let [section, inBlock, continues] = ["", false, false];
  for (const line of readFileSync(page, "utf8").split("\n")) {
    if (line.startsWith("```")) inBlock = line === "```console";
    else if (!inBlock) section = /^#+ (.*)/.exec(line)?.[1] ?? section;
    else if (continues || line.startsWith("$ ")) {
      const text = continues ? `${commands.pop()?.text}\n${line}` : line.slice(2);
      continues = line.endsWith("\\");
      commands.push({ section, text: text.replace(/\s+# .*$/, "") });
    }
  }
  return commands;
}

/** What a reader has: the checkout after `npm ci`, tools on the PATH, and a JobSet in a file. */
interface Surroundings {
  /** By name on the PATH, with the path of the program. */
  readonly tools: Readonly<Record<string, string>>;
  readonly kubeconfig: string;
  readonly files: Readonly<Record<string, string>>;
  /** What the reader's editor does with the file in "$1", as a shell script. */
  readonly editor: string;
}

/** Of the repository. `npx` runs its script "prepare" once, which needs the sources. */
const COPIED = [
  "package.json",
  "LICENSE",
  "tsconfig.json",
  "manifests",
  "charts",
  "src",
  "agent",
  "controller",
  "scripts",
];

export class Console {
  readonly #root: string;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(root: string, env: NodeJS.ProcessEnv) {
    this.#root = root;
    this.#env = env;
  }

  static async open({ tools, kubeconfig, files, editor }: Surroundings): Promise<Console> {
    const root = mkdtempSync(join(tmpdir(), "reprise-console-"));
    const [checkout, bin, home] = ["checkout", "bin", "home"].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ];
    for (const folder of [checkout, bin, home]) mkdirSync(folder);
    for (const name of COPIED) cpSync(name, join(checkout, name), { recursive: true });
    symlinkSync(join(process.cwd(), "node_modules"), join(checkout, "node_modules"));
    await bundleCli(join(checkout, "dist"));
    for (const [name, content] of Object.entries(files)) writeFileSync(join(checkout, name), content);
    const programs = { ...tools, reprise: join(checkout, "dist", "reprise.js"), node: process.execPath };
    for (const [name, path] of Object.entries(programs)) symlinkSync(path, join(bin, name));
    writeFileSync(join(bin, "edit"), `#!/bin/sh\n${editor}\n`);
    chmodSync(join(bin, "edit"), 0o755);
    const path = [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter);
    // The reader's own settings and caches, not those of this machine. npm looks for a newer npm on its own.
    const env = { PATH: path, HOME: home, KUBECONFIG: kubeconfig, EDITOR: "edit", npm_config_update_notifier: "false" };
    return new Console(root, env);
  }

  /** Runs a command to its end, and returns what it prints. One that fails throws. */
  async run(command: string): Promise<string> {
    const child = this.#start(command);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    const code = await exitCode(child);
    if (code !== 0) throw new Error(`$ ${command}\n${output}\nexit code ${code}`);
    return output;
  }

  /** Runs a command that goes on until Ctrl-C. `onLine` returns true when it has seen enough. */
  async watch(command: string, onLine: (line: string) => boolean | Promise<boolean>): Promise<void> {
    const child = this.#start(command);
    let [output, isEnough] = ["", false];
    child.stderr.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    const ended = exitCode(child);
    try {
      for await (const line of createInterface({ input: child.stdout })) {
        output += `${line}\n`;
        isEnough = await onLine(line);
        if (isEnough) break;
      }
    } finally {
      // Ctrl-C reaches every process of the terminal.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGINT");
      await ended;
    }
    if (!isEnough) throw new Error(`$ ${command}\n${output}\nended before Ctrl-C`);
  }

  close(): void {
    rmSync(this.#root, { recursive: true });
  }

  #start(command: string) {
    const options = { cwd: join(this.#root, "checkout"), env: this.#env, detached: true } as const;
    return spawn("bash", ["-c", command], { ...options, stdio: ["ignore", "pipe", "pipe"] });
  }
}

async function exitCode(child: ReturnType<typeof spawn>): Promise<number | null> {
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
}
