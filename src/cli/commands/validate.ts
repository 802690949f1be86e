// `reprise validate`: checks the JobSets of files or of a cluster as the webhooks do, and says what injection does to
// them.
import { type Command, Option } from "commander";
import type { Config } from "../../config/config.ts";
import type { RepriseError } from "../../errors.ts";
import type { KubeClient } from "../../kube/client.ts";
import { type GlobalOptions, globalOptions } from "../options.ts";
import type { Validations } from "../output/validate-report.ts";

interface Options {
  readonly filename?: readonly string[];
  readonly recursive?: boolean;
  readonly fromCluster?: boolean;
  readonly output: "text" | "json";
  readonly explain?: boolean;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
}

export function addValidate(program: Command): void {
  program
    .command("validate")
    .description(
      "check JobSets, plain or injected, as the webhooks do, and say what injection does to them; " +
        "other documents are ignored",
    )
    .option("-f, --filename <file...>", "YAML or JSON file, directory, or - for standard input")
    .option("-R, --recursive", "read the subdirectories of directories too")
    .addOption(
      new Option(
        "--from-cluster",
        "check the JobSets of a namespace as if they were created again with injection; changes nothing",
      ).conflicts("filename"),
    )
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .option("--explain", "print the verdict of every rule")
    .option(
      "-n, --namespace <name>",
      'namespace of JobSets in files that do not set one (default: "default"), or the one to read from the cluster ' +
        "(default: that of the kubeconfig context)",
    )
    .addOption(
      new Option("-A, --all-namespaces", "with --from-cluster: of all namespaces").conflicts(["namespace", "filename"]),
    )
    .action(async (options: Options, command: Command) => {
      const { ProblemList, RepriseError } = await import("../../errors.ts");
      const report = await import("../output/validate-report.ts");

      const { validations, problems } = await validateInput(options, globalOptions(command));
      const { jobSets } = validations;
      const print = options.output === "json" ? report.verdictsAsJson : report.verdictsAsText;
      process.stdout.write(print(validations, options.explain ?? false));
      for (const line of report.findingLines(jobSets)) process.stderr.write(`${line}\n`);
      const refused = jobSets.filter(({ verdict }) => !verdict.allowed).length;
      const refusals = refused === 0 ? [] : [new RepriseError("JOBSETS_REFUSED", { refused, jobSets: jobSets.length })];
      if (problems.length + refusals.length > 0) throw new ProblemList([...problems, ...refusals]);
    });
}

interface Validated {
  readonly validations: Validations;
  /** What could not be read, or is no JobSet although it is meant to be one. */
  readonly problems: readonly RepriseError[];
}

async function validateInput(
  options: Options,
  { config: file, kubeconfig, context }: GlobalOptions,
): Promise<Validated> {
  const { loadConfig } = await import("../../config/config-file.ts");
  const { RepriseError } = await import("../../errors.ts");
  const config = await loadConfig(file);
  if (options.filename !== undefined) return validateFiles(options.filename, options, config);
  if (options.fromCluster !== true) throw new RepriseError("VALIDATE_NOTHING", {});
  const { connect } = await import("../../kube/client.ts");
  const client = connect({ kubeconfig, context });
  try {
    const namespace = options.namespace ?? client.namespace;
    return await validateCluster(client, options.allNamespaces === true ? undefined : namespace, config);
  } finally {
    await client.close();
  }
}

async function validateFiles(
  names: readonly string[],
  { recursive = false, namespace = "default" }: Options,
  config: Config,
): Promise<Validated> {
  const { RepriseError } = await import("../../errors.ts");
  const { namespacesIn } = await import("../input/namespaces.ts");
  const { policiesIn } = await import("../input/policies.ts");
  const { readSources, summaryOf } = await import("../input/sources.ts");
  const { locate } = await import("../output/finding-line.ts");
  const { validateAll } = await import("../output/validate-report.ts");

  const sources = await readSources(names, recursive);
  const { documents } = sources;
  const known = {
    policies: policiesIn(documents, config.failurePolicies, namespace),
    namespaces: namespacesIn(documents),
  };
  const jobSets = validateAll(locate(documents), config.injection, known, namespace);
  const problems = [...sources.problems, ...documents.flatMap(({ lookalikes }) => lookalikes)];
  // A check that has checked nothing is not a success.
  const isEmpty = jobSets.length + problems.length === 0;
  const nothing = isEmpty ? [new RepriseError("INPUT_WITHOUT_JOBSET", summaryOf(names, sources))] : [];
  const ignored = documents.filter((each) => each.jobSets.length + each.lookalikes.length === 0 && each.value !== null);
  return {
    validations: { jobSets, ignored: ignored.length, unreadable: problems.map(({ message }) => message) },
    problems: [...problems, ...nothing],
  };
}

/** `namespace` undefined: all of them. */
async function validateCluster(client: KubeClient, namespace: string | undefined, config: Config): Promise<Validated> {
  const { readJobSets, readLacks, readNamespaces, readPolicies } = await import("../input/cluster-jobsets.ts");
  const { validateAll } = await import("../output/validate-report.ts");

  const objects = await readJobSets(client, namespace);
  for (const { message } of await readLacks(client)) process.stderr.write(`${client.server}: warning: ${message}\n`);
  if (objects.length === 0) {
    process.stderr.write(`no JobSet in ${namespace === undefined ? "any namespace" : `namespace ${namespace}`}\n`);
  }
  const known = {
    policies: await readPolicies(client, objects, config.failurePolicies),
    namespaces: await readNamespaces(client, objects),
  };
  const located = objects.map((object) => ({ jobSet: { path: [], object } }));
  const jobSets = validateAll(located, config.injection, known, namespace ?? "");
  return { validations: { jobSets, ignored: 0, unreadable: [] }, problems: [] };
}
