// `reprise version`: prints the version of reprise and, with --server, of the cluster and of the programs in it.
import { type Command, Option } from "commander";
import { VERSION } from "../../api/version.ts";
import { type GlobalOptions, globalOptions } from "../options.ts";

interface Options {
  readonly server?: boolean;
  readonly output: "text" | "json";
}

interface ServerVersions {
  readonly kubernetes: string;
  readonly address: string;
  /** Images of the programs, by Deployment. Empty if they are not installed, or may not be read. */
  readonly images: Readonly<Record<string, string>>;
}

export function addVersion(program: Command): void {
  program
    .command("version")
    .description("print the version of reprise and, with --server, of the cluster and of reprise in it")
    .option("--server", "also print the versions of the API server and of the programs of reprise")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .action(async ({ server, output }: Options, command: Command) => {
      const client = { version: VERSION, node: process.versions.node };
      if (output === "text") process.stdout.write(`reprise ${client.version} (Node.js ${client.node})\n`);
      const versions = server === true ? await readServer(globalOptions(command)) : undefined;
      if (output === "json") {
        const data = { client, ...(versions === undefined ? {} : { server: versions }) };
        process.stdout.write(`${JSON.stringify(data, null, 2)}\n`);
      } else if (versions !== undefined) {
        process.stdout.write(`Kubernetes ${versions.kubernetes} at ${versions.address}\n`);
        for (const [name, image] of Object.entries(versions.images)) process.stdout.write(`${name} ${image}\n`);
      }
    });
}

async function readServer(source: GlobalOptions): Promise<ServerVersions> {
  const { connect } = await import("../../kube/client.ts");
  const { readImages } = await import("../input/server-images.ts");
  const client = connect(source);
  try {
    const { gitVersion } = await client.request("GET", "/version");
    return { kubernetes: String(gitVersion), address: client.server, images: await readImages(client) };
  } finally {
    await client.close();
  }
}
