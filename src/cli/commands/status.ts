// `reprise status`: the state of groups, what they wait for and how to fix it, once or live.
import { type Command, Option } from "commander";
import { globalOptions } from "../options.ts";
import type { GroupReport } from "../output/status-report.ts";

interface Options {
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly watch?: boolean;
  readonly output: "text" | "wide" | "json" | "yaml";
}

export function addStatus(program: Command): void {
  program
    .command("status")
    .description("show the state of JobSets that restart in place, and what they wait for")
    .argument("[jobset]", "show the details of this JobSet (default: one line per JobSet)")
    .option("-n, --namespace <name>", "namespace (default: that of the kubeconfig context)")
    .addOption(new Option("-A, --all-namespaces", "show JobSets of all namespaces").conflicts("namespace"))
    .option("-w, --watch", "show it live; if the output is not a terminal, print a line for each change")
    .addOption(
      new Option("-o, --output <format>", "output format").choices(["text", "wide", "json", "yaml"]).default("text"),
    )
    .action(async (jobSet: string | undefined, options: Options, command: Command) => {
      const { stringify } = await import("yaml");
      const { RepriseError } = await import("../../errors.ts");
      const { connect } = await import("../../kube/client.ts");
      const { readGroup, readGroups } = await import("../input/status-reading.ts");
      const { reportGroup, suspectNodesOf } = await import("../output/status-report.ts");
      const { groupAsText, groupsAsText } = await import("../output/status-text.ts");

      const { allNamespaces = false, output } = options;
      const isData = output === "json" || output === "yaml";
      if (jobSet !== undefined && allNamespaces) throw new RepriseError("STATUS_OF_ONE_EVERYWHERE", { jobSet });
      if (options.watch === true && isData) throw new RepriseError("STATUS_WATCH_AS_DATA", { output });
      const { kubeconfig, context } = globalOptions(command);
      const client = connect({ kubeconfig, context });
      const namespace = options.namespace ?? client.namespace;
      const read = async (): Promise<readonly GroupReport[]> =>
        jobSet === undefined
          ? (await readGroups(client, allNamespaces ? undefined : namespace)).map((group) =>
              reportGroup(group, Date.now()),
            )
          : [reportGroup(await readGroup(client, namespace, jobSet), Date.now())];
      try {
        if (options.watch === true) {
          const { watchStatus } = await import("../output/watch-status.ts");
          await watchStatus({ read, render: asText });
        } else process.stdout.write(isData ? asData(await read()) : asText(await read()));
      } finally {
        await client.close();
      }

      function asText(groups: readonly GroupReport[]): string {
        const [group] = groups;
        const now = Date.now();
        if (jobSet !== undefined && group !== undefined) return groupAsText(group, now);
        return groupsAsText(groups, allNamespaces, output === "wide" ? { now } : undefined);
      }

      function asData(groups: readonly GroupReport[]): string {
        const value = jobSet === undefined ? { groups, suspectNodes: suspectNodesOf(groups) } : groups[0];
        return output === "yaml" ? stringify(value) : `${JSON.stringify(value, null, 2)}\n`;
      }
    });
}
