// `reprise validate`: checks the JobSets of files as the webhooks do, without a cluster.
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
    .description("check the JobSets in files, plain or injected, as the webhooks do; other documents are ignored")
    .requiredOption("-f, --filename <file...>", "YAML or JSON file, directory, or - for standard input")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .option("--explain", "print the verdict of every rule")
    .option("-n, --namespace <name>", "namespace of JobSets that do not set one", "default")
    .action(async ({ filename, output, explain = false, namespace }: Options, command: Command) => {
      const { loadConfig } = await import("../../config/config-file.ts");
      const { RepriseError } = await import("../../errors.ts");
      const report = await import("../output/validate-report.ts");
      const { namespacesIn } = await import("../input/namespaces.ts");
      const { policiesIn } = await import("../input/policies.ts");
      const { readSources } = await import("../input/sources.ts");

      const config = await loadConfig(globalOptions(command).config);
      const documents = await readSources(filename);
      const known = {
        policies: policiesIn(documents, config.failurePolicies, namespace),
        namespaces: namespacesIn(documents),
      };
      const validations = report.validateDocuments(documents, config.injection, known, namespace);
      const ignored = documents.filter(({ jobSets, value }) => jobSets.length === 0 && value !== null).length;
      const print = output === "json" ? report.verdictsAsJson : report.verdictsAsText;
      process.stdout.write(print(validations, ignored, explain));
      for (const line of report.findingLines(validations)) process.stderr.write(`${line}\n`);
      const refused = validations.filter(({ verdict }) => !verdict.allowed).length;
      if (refused > 0) throw new RepriseError("JOBSETS_REFUSED", { refused, jobSets: validations.length });
    });
}
