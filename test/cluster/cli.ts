// npm run cluster -- up | down | status | env | logs | load: a real Kubernetes on this machine.
import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { Command, Option } from "commander";
import { Cluster, defaultStateDir, down, type Part } from "./cluster.ts";
import { terminalProgress } from "./progress.ts";

interface Place {
  readonly slot: number;
  readonly stateDir?: string;
}

const PARTS: readonly Part[] = ["jobset", "cert-manager", "dns"];

const program = new Command("cluster").description("A real Kubernetes with up to four nodes on this machine.");

function command(name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .addOption(
      new Option("--slot <n>", "which cluster of this machine; gives it its addresses")
        .env("REPRISE_CLUSTER_SLOT")
        .default(0)
        .argParser(Number),
    )
    .addOption(new Option("--state-dir <dir>", "where its files are").env("REPRISE_CLUSTER_STATE_DIR"));
}

command("up", "build what is missing and start")
  .addOption(new Option("--nodes <n>", "how many nodes").default(1).argParser(Number))
  .option("--control-plane-only", "no nodes: etcd, API server, controller manager and scheduler")
  .option("--upstream-in-place", "turn on JobSet's own alpha of in-place restart")
  .addOption(new Option("--with <part...>", "install more").choices(PARTS).default([] as Part[]))
  .option("--without-jobset", "do not install JobSet")
  .action(async (options: Place & UpOptions) => {
    const wanted = new Set<Part>([...(options.withoutJobset === true ? [] : ["jobset" as const]), ...options.with]);
    const cluster = await Cluster.up({
      ...options,
      nodes: options.controlPlaneOnly === true ? 0 : options.nodes,
      parts: options.controlPlaneOnly === true ? [] : [...wanted],
      upstreamInPlace: options.upstreamInPlace ?? false,
      progress: terminalProgress(),
    });
    process.stdout.write(`export KUBECONFIG=${cluster.kubeconfig}\n`);
  });

interface UpOptions {
  readonly nodes: number;
  readonly with: readonly Part[];
  readonly controlPlaneOnly?: boolean;
  readonly upstreamInPlace?: boolean;
  readonly withoutJobset?: boolean;
}

command("down", "end it and remove every trace").action(async (options: Place) => {
  const found = await down(options.slot, resolve(options.stateDir ?? defaultStateDir(options.slot)));
  process.stdout.write(found ? "the cluster is gone\n" : "there is no cluster to end\n");
});

command("status", "show what runs").action(async (options: Place) => {
  const cluster = await attach(options);
  const { slot, nodes, since, checkout } = cluster.record;
  process.stdout.write(`slot ${slot}, ${nodes} node(s), up since ${since}, checkout ${checkout}\n`);
  process.stdout.write(`state in ${cluster.stateDir}\n\n`);
  for (const one of cluster.programs()) {
    process.stdout.write(`${one.alive() ? "running" : "ENDED  "}  ${one.name} (pid ${one.pid})\n`);
  }
  process.stdout.write(`\n${await cluster.kubectl(["get", "nodes,pods", "-A", "-o", "wide"])}`);
});

command("env", "print KUBECONFIG for eval").action(async (options: Place) => {
  process.stdout.write(`export KUBECONFIG=${(await attach(options)).kubeconfig}\n`);
});

command("logs", "print the log of etcd, kube-apiserver, kubelet-1, ...")
  .argument("<component>")
  .action(async (component: string, options: Place) => {
    const log = createReadStream((await attach(options)).program(component).logFile);
    log.pipe(process.stdout);
  });

command("load", "import a docker-archive tar into every node")
  .argument("<image.tar>")
  .action(async (archive: string, options: Place) => {
    (await attach(options)).load(archive);
  });

async function attach({ slot, stateDir }: Place): Promise<Cluster> {
  return await Cluster.attach(resolve(stateDir ?? defaultStateDir(slot)), terminalProgress());
}

try {
  await program.parseAsync();
} catch (error) {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`cluster: ${text}\n`);
  process.exitCode = 1;
}
