// Runs the kubectl that belongs to the cluster.
import { spawn } from "node:child_process";

interface KubectlOptions {
  /** For `-f -`. */
  readonly input?: string;
  /** Also what it printed to standard error: the API server's warnings. */
  readonly withWarnings?: boolean;
}

/** Standard output of a kubectl call; a call that fails throws with what kubectl said. */
export type Kubectl = (args: readonly string[], options?: KubectlOptions) => Promise<string>;

export function kubectlFor(binary: string, kubeconfig: string): Kubectl {
  return async (args, options = {}) => {
    const child = spawn(binary, ["--kubeconfig", kubeconfig, ...args], { stdio: ["pipe", "pipe", "pipe"] });
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    child.stdin.on("error", () => {}); // kubectl may end before it has read everything; its exit code tells.
    child.stdin.end(options.input ?? "");
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: exit ${code}: ${stderr().trim() || stdout().trim()}`);
    return options.withWarnings === true ? stdout() + stderr() : stdout();
  };
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}
