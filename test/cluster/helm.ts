// Runs the helm of the tests. Its settings stay in a folder of their own, so that those of the user have no effect.
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureBinaries } from "./binaries.ts";
import { terminalProgress } from "./progress.ts";

/** Returns standard output. A call that fails throws an error with helm's message. */
export type Helm = (args: readonly string[], input?: string) => Promise<string>;

export async function helmFor(kubeconfig = "/nonexistent"): Promise<Helm> {
  const path = await ensureBinaries(["helm"], terminalProgress());
  const home = join(tmpdir(), "reprise-helm");
  const env = { ...process.env, HOME: home, XDG_CACHE_HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home };
  return async (args, input = "") => {
    const child = spawn(path("helm", "helm"), [...args], { env: { ...env, KUBECONFIG: kubeconfig } });
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk: Buffer) => {
      output.stdout += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      output.stderr += chunk.toString();
    });
    child.stdin.on("error", () => {}); // helm may exit before it has read everything; the exit code decides.
    child.stdin.end(input);
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    if (code !== 0) throw new Error(`helm ${args.join(" ")}: exit ${code}: ${output.stderr.trim()}`);
    return output.stdout;
  };
}
