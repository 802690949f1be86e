// `reprise version`: prints the version of reprise and, with --server, of the cluster.
import type { Command } from "commander";
import { VERSION } from "../../api/version.ts";
import { type GlobalOptions, globalOptions } from "../options.ts";

export function addVersion(program: Command): void {
  program
    .command("version")
    .description("print the version of reprise and, with --server, of the cluster")
    .option("--server", "also print the version of the API server")
    .action(async (options: { server?: boolean }, command: Command) => {
      process.stdout.write(`reprise ${VERSION} (Node.js ${process.versions.node})\n`);
      if (options.server === true) process.stdout.write(`${await serverVersion(globalOptions(command))}\n`);
    });
}

async function serverVersion(source: GlobalOptions): Promise<string> {
  const { connect } = await import("../../kube/client.ts");
  const client = connect(source);
  try {
    const { gitVersion } = await client.request("GET", "/version");
    return `Kubernetes ${String(gitVersion)} at ${client.server}`;
  } finally {
    await client.close();
  }
}
