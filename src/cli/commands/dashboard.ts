// `reprise dashboard`: serves one read-only page about all groups until it is terminated.
import { type Command, InvalidArgumentError, Option } from "commander";
import { globalOptions } from "../options.ts";

interface Options {
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly address: string;
  readonly port: number;
  readonly allowHost: readonly string[];
}

/** Beside the ports of the webhook and the controller. */
const PORT = 8084;

export function addDashboard(program: Command): void {
  program
    .command("dashboard")
    .description("serve a read-only page: groups, their Pods, and recoveries as they happen")
    .option("-n, --namespace <name>", "namespace (default: that of the kubeconfig context)")
    .addOption(new Option("-A, --all-namespaces", "show JobSets of all namespaces").conflicts("namespace"))
    .option(
      "--address <address>",
      "address to listen on, or '' for all; the page has no login, so others need a proxy",
      "127.0.0.1",
    )
    .addOption(new Option("--port <port>", "port to listen on; 0 picks a free one").argParser(port).default(PORT))
    .option("--allow-host <name...>", "name under which a proxy serves the page, besides localhost", [])
    .action(async (options: Options, command: Command) => {
      const { loadConfig } = await import("../../config/config-file.ts");
      const { connect } = await import("../../kube/client.ts");
      const { createLogger } = await import("../../telemetry/log.ts");
      const { terminationSignal } = await import("../../process/signals.ts");
      const { readAssets } = await import("../../dashboard/assets.ts");
      const { runDashboard } = await import("../../dashboard/run.ts");

      const { logLevel, config, kubeconfig, context } = globalOptions(command);
      const level = logLevel ?? (await loadConfig(config)).logLevel;
      const terminated = terminationSignal();
      const client = connect({ kubeconfig, context });
      try {
        const dashboard = await runDashboard({
          client,
          ...(options.allNamespaces === true ? {} : { namespace: options.namespace ?? client.namespace }),
          address: options.address,
          port: options.port,
          allowedHosts: options.allowHost,
          assets: readAssets(),
          log: createLogger({ level }).child({ component: "dashboard" }),
        });
        process.stdout.write(`dashboard: http://${shown(options.address)}:${dashboard.port}/ (Ctrl+C ends it)\n`);
        await terminated;
        await dashboard.close();
      } finally {
        await client.close();
      }
    });
}

/** The address as people open it. */
function shown(address: string): string {
  if (["", "0.0.0.0", "::"].includes(address)) return "localhost";
  return address.includes(":") ? `[${address}]` : address;
}

function port(text: string): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= 65_535)) throw new InvalidArgumentError("expected a number from 0 to 65535");
  return value;
}
