// `reprise inject`: injects the JobSets of files as the webhook does, without a cluster.
import { type Command, Option } from "commander";
import { globalOptions } from "../options.ts";

interface Options {
  readonly filename: readonly string[];
  readonly recursive?: boolean;
  readonly output?: "yaml" | "json" | "diff" | "patch";
  readonly namespace: string;
}

export function addInject(program: Command): void {
  program
    .command("inject")
    .description("inject the JobSets in files as the webhook does; everything else stays unchanged")
    .requiredOption("-f, --filename <file...>", "YAML or JSON file, directory, or - for standard input")
    .option("-R, --recursive", "read the subdirectories of directories too")
    .addOption(
      new Option("-o, --output <format>", "output format (default: the format of each document)").choices([
        "yaml",
        "json",
        "diff",
        "patch",
      ]),
    )
    .option("-n, --namespace <name>", "namespace of JobSets that do not set one", "default")
    .action(async ({ filename, recursive = false, output, namespace }: Options, command: Command) => {
      const { loadConfig } = await import("../../config/config-file.ts");
      const { ProblemList, RepriseError } = await import("../../errors.ts");
      const { injectDocuments, print } = await import("../output/inject-report.ts");
      const { namespacesIn } = await import("../input/namespaces.ts");
      const { policiesIn } = await import("../input/policies.ts");
      const { readSources, summaryOf } = await import("../input/sources.ts");

      const config = await loadConfig(globalOptions(command).config);
      const sources = await readSources(filename, recursive);
      const { documents, problems } = sources;
      const known = {
        policies: policiesIn(documents, config.failurePolicies, namespace),
        namespaces: namespacesIn(documents),
      };
      const { injected, lines, jobSets, refused } = injectDocuments(documents, config.injection, known, namespace);
      for (const line of lines) process.stderr.write(`${line}\n`);
      const refusals = refused === 0 ? [] : [new RepriseError("JOBSETS_REFUSED", { refused, jobSets })];
      // All or nothing: half of a file piped into kubectl would look like a success.
      if (problems.length + refusals.length > 0) throw new ProblemList([...problems, ...refusals]);
      // A filter between kustomize and kubectl must also take input that has nothing to inject.
      if (lines.length === 0) process.stderr.write(`no JobSet in ${summaryOf(filename, sources).files}: unchanged\n`);
      const { styleText } = await import("node:util");
      const paint = (color: "red" | "green" | "cyan" | "bold", text: string) =>
        styleText(color, text, { stream: process.stdout });
      process.stdout.write(print(injected, output, paint));
    });
}
