// `reprise status`: the state of groups, what they wait for and how to fix it.
import { type Command, Option } from "commander";
import { globalOptions } from "../options.ts";

interface Options {
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly output: "text" | "json" | "yaml";
}

export function addStatus(program: Command): void {
  program
    .command("status")
    .description("show the state of JobSets that restart in place, and what they wait for")
    .argument("[jobset]", "show the details of this JobSet (default: one line per JobSet)")
    .option("-n, --namespace <name>", "namespace (default: that of the kubeconfig context)")
    .addOption(new Option("-A, --all-namespaces", "show JobSets of all namespaces").conflicts("namespace"))
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json", "yaml"]).default("text"))
    .action(async (jobSet: string | undefined, options: Options, command: Command) => {
      const { stringify } = await import("yaml");
      const { RepriseError } = await import("../../errors.ts");
      const { connect } = await import("../../kube/client.ts");
      const { readGroup, readGroups } = await import("../input/status-reading.ts");
      const { reportGroup } = await import("../output/status-report.ts");
      const { groupAsText, groupsAsText } = await import("../output/status-text.ts");

      const { allNamespaces = false, output } = options;
      if (jobSet !== undefined && allNamespaces) throw new RepriseError("STATUS_OF_ONE_EVERYWHERE", { jobSet });
      const { kubeconfig, context } = globalOptions(command);
      const client = connect({ kubeconfig, context });
      try {
        const namespace = options.namespace ?? client.namespace;
        const text = await (jobSet === undefined ? reportAll() : reportOne(jobSet));
        process.stdout.write(text);

        async function reportOne(name: string): Promise<string> {
          const report = reportGroup(await readGroup(client, namespace, name));
          return output === "text" ? groupAsText(report, Date.now()) : asData(report);
        }

        async function reportAll(): Promise<string> {
          const reports = (await readGroups(client, allNamespaces ? undefined : namespace)).map(reportGroup);
          return output === "text" ? groupsAsText(reports, allNamespaces) : asData({ groups: reports });
        }
      } finally {
        await client.close();
      }

      function asData(value: unknown): string {
        return output === "yaml" ? stringify(value) : `${JSON.stringify(value, null, 2)}\n`;
      }
    });
}
