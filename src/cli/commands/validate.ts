// `reprise validate`: what the webhooks would say about the JobSets in a file, without a cluster.
import { type Command, Option } from "commander";
import { globalOptions } from "../options.ts";

interface Options {
  readonly filename: readonly string[];
  readonly output: "text" | "json";
  readonly explain?: boolean;
  readonly namespace: string;
}

export function addValidate(program: Command): void {
  program
    .command("validate")
    .description("check the JobSets of files, plain or injected, as the webhooks would; other documents are ignored")
    .requiredOption("-f, --filename <file...>", "YAML or JSON file, directory, or - for standard input")
    .addOption(new Option("-o, --output <format>", "format of the verdicts").choices(["text", "json"]).default("text"))
    .option("--explain", "list every rule with its verdict")
    .option("-n, --namespace <name>", "namespace of JobSets that do not say", "default")
    .action(async ({ filename, output, explain = false, namespace }: Options, command: Command) => {
      const { loadConfig } = await import("../../config/config-file.ts");
      const { RepriseError } = await import("../../errors.ts");
      const { judgeDocuments, messages, verdictsAsJson, verdictsAsText } = await import("../output/validate-report.ts");
      const { policiesIn } = await import("../input/policies.ts");
      const { readSources } = await import("../input/sources.ts");

      const config = await loadConfig(globalOptions(command).config);
      const documents = await readSources(filename);
      const policies = policiesIn(documents, config.failurePolicies, namespace);
      const judgements = judgeDocuments(documents, config.injection, policies, namespace);
      const ignored = documents.filter(({ jobSets, value }) => jobSets.length === 0 && value !== null).length;
      process.stdout.write(
        output === "json" ? verdictsAsJson(judgements, ignored, explain) : verdictsAsText(judgements, ignored, explain),
      );
      for (const line of messages(judgements)) process.stderr.write(`${line}\n`);
      const refused = judgements.filter(({ verdict }) => !verdict.allowed).length;
      if (refused > 0) throw new RepriseError("JOBSETS_REFUSED", { refused, jobSets: judgements.length });
    });
}
