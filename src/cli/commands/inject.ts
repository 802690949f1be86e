// `reprise inject`: injects the JobSets of files as the webhook does, without a cluster.
import { type Command, Option } from "commander";
import { globalOptions } from "../options.ts";

interface Options {
  readonly filename: readonly string[];
  readonly output?: "yaml" | "json" | "diff" | "patch";
  readonly namespace: string;
}

export function addInject(program: Command): void {
  program
    .command("inject")
    .description("inject the JobSets in files as the webhook does; other documents stay unchanged")
    .requiredOption("-f, --filename <file...>", "YAML or JSON file, directory, or - for standard input")
    .addOption(
      new Option("-o, --output <format>", "output format (default: the format of each document)").choices([
        "yaml",
        "json",
        "diff",
        "patch",
      ]),
    )
    .option("-n, --namespace <name>", "namespace of JobSets that do not set one", "default")
    .action(async ({ filename, output, namespace }: Options, command: Command) => {
      const { loadConfig } = await import("../../config/config-file.ts");
      const { RepriseError } = await import("../../errors.ts");
      const { injectDocuments, print } = await import("../output/inject-report.ts");
      const { namespacesIn } = await import("../input/namespaces.ts");
      const { policiesIn } = await import("../input/policies.ts");
      const { readSources } = await import("../input/sources.ts");

      const config = await loadConfig(globalOptions(command).config);
      const documents = await readSources(filename);
      const known = {
        policies: policiesIn(documents, config.failurePolicies, namespace),
        namespaces: namespacesIn(documents),
      };
      const { injected, lines, jobSets, refused } = injectDocuments(documents, config.injection, known, namespace);
      for (const line of lines) process.stderr.write(`${line}\n`);
      // All or nothing: half of a file piped into kubectl would look like a success.
      if (refused > 0) throw new RepriseError("JOBSETS_REFUSED", { refused, jobSets });
      const { styleText } = await import("node:util");
      const paint = (color: "red" | "green" | "cyan" | "bold", text: string) =>
        styleText(color, text, { stream: process.stdout });
      process.stdout.write(print(injected, output, paint));
    });
}
