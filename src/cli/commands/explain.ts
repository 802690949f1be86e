// `reprise explain`: why a JobSet is injected or not, and what happens to it in the usual failures.
import { type Command, Option } from "commander";
import { type GlobalOptions, globalOptions } from "../options.ts";
import type { Explanation } from "../output/explain.ts";

interface Options {
  readonly filename?: readonly string[];
  readonly namespace?: string;
  readonly output: "text" | "json";
}

interface Explained {
  readonly jobSet: string;
  readonly sections: readonly Explanation[];
}

export function addExplain(program: Command): void {
  program
    .command("explain")
    .description("say why a JobSet is injected or not, what each exit code does, and what happens if a node is lost")
    .argument("[jobset]", "name of a JobSet in the cluster")
    .option("-f, --filename <file...>", "YAML or JSON file, directory, or - for standard input; needs no cluster")
    .option("-n, --namespace <name>", "namespace (default: that of the kubeconfig context, for files: default)")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .action(async (name: string | undefined, options: Options, command: Command) => {
      const { RepriseError } = await import("../../errors.ts");
      const { explanationText } = await import("../output/explain.ts");
      const { filename, output } = options;
      if ((name === undefined) === (filename === undefined)) throw new RepriseError("EXPLAIN_WHAT", {});
      const global = globalOptions(command);
      const explained =
        filename !== undefined
          ? await explainFiles(filename, options, global)
          : [await explainLive(name ?? "", options, global)];
      process.stdout.write(
        output === "json"
          ? `${JSON.stringify({ jobSets: explained }, null, 2)}\n`
          : explained.map(({ jobSet, sections }) => explanationText(`JobSet ${jobSet}`, sections)).join("\n"),
      );
    });
}

async function explainFiles(files: readonly string[], options: Options, global: GlobalOptions): Promise<Explained[]> {
  const { injectFiles } = await import("../input/injected-jobsets.ts");
  const { explainOutcome } = await import("../output/explain.ts");

  const { config, jobSets } = await injectFiles(files, global.config, options.namespace);
  const settings = { policy: config.controller, stuckPods: config.stuckPods };
  return jobSets.map(({ name, outcome }) => ({ jobSet: name, sections: explainOutcome(outcome, settings) }));
}

async function explainLive(name: string, options: Options, global: GlobalOptions): Promise<Explained> {
  const { LABEL } = await import("../../api/names.ts");
  const { loadConfig } = await import("../../config/config-file.ts");
  const { isInjected } = await import("../../inject/stored/is-injected.ts");
  const { objectAt } = await import("../../json/edit.ts");
  const { connect } = await import("../../kube/client.ts");
  const { admit, admitted } = await import("../../validate/preview.ts");
  const { readJobSetObject, readNamespaces, readPolicies, readNamespaceLabels } = await import(
    "../input/cluster-jobsets.ts"
  );
  const { explainInjected, explainPlain } = await import("../output/explain.ts");

  const { config: file, kubeconfig, context } = global;
  const config = await loadConfig(file);
  const client = connect({ kubeconfig, context });
  try {
    const namespace = options.namespace ?? client.namespace;
    const object = await readJobSetObject(client, namespace, name);
    const settings = { policy: config.controller, stuckPods: config.stuckPods };
    const jobSet = `${namespace}/${name}`;
    if (isInjected(objectAt(object, "spec") ?? {})) return { jobSet, sections: explainInjected(object, settings) };
    const labels = await readNamespaceLabels(client, namespace);
    const policies = await readPolicies(client, [object], config.failurePolicies);
    const namespaces = await readNamespaces(client, [object]);
    const outcome = admitted(admit({ namespace, object, config: config.injection, policies, namespaces }));
    return { jobSet, sections: explainPlain(outcome, labels[LABEL.injection] === "enabled", settings) };
  } finally {
    await client.close();
  }
}
