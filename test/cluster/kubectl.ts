// Runs the kubectl that belongs to the cluster.
import { spawn } from "node:child_process";

interface KubectlOptions {
  /** For `-f -`. */
  readonly input?: string;
  /** Appends standard error, where kubectl prints the API server's warnings. */
  readonly withWarnings?: boolean;
}

/** Returns standard output. A call that fails throws an error with kubectl's message. */
export type Kubectl = (args: readonly string[], options?: KubectlOptions) => Promise<string>;

export function kubectlFor(binary: string, kubeconfig: string): Kubectl {
  return async (args, options = {}) => {
    const child = spawn(binary, ["--kubeconfig", kubeconfig, ...args], { stdio: ["pipe", "pipe", "pipe"] });
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    child.stdin.on("error", () => {}); // kubectl may exit before it has read everything; the exit code decides.
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
