// The JobSets of files as they would run: injected, and only the replicatedJobs that are in the group.
import type { InjectionOutcome } from "../../api/admission.ts";
import { hasAgent } from "../../api/agent-container.ts";
import { type JobSet, readJobSet } from "../../api/jobset.ts";
import type { Config } from "../../config/config.ts";
import { loadConfig } from "../../config/config-file.ts";
import { ProblemList, RepriseError } from "../../errors.ts";
import { asMap } from "../../json/fields.ts";
import { admit, admitted } from "../../validate/preview.ts";
import { jobSetName, locate, namespaceOf } from "../output/finding-line.ts";
import { namespacesIn } from "./namespaces.ts";
import { policiesIn } from "./policies.ts";
import { readSources, summaryOf } from "./sources.ts";

interface InjectedJobSet {
  readonly name: string;
  readonly jobSet: JobSet;
}

interface InjectionOfFiles {
  readonly config: Config;
  readonly jobSets: readonly { readonly name: string; readonly outcome: InjectionOutcome }[];
}

const NAMESPACE = "default";

/** What the webhooks do to each JobSet of the files when it is created. `namespace` is for those that set none. */
export async function injectFiles(
  files: readonly string[],
  configFile: string | undefined,
  namespace = NAMESPACE,
): Promise<InjectionOfFiles> {
  const config = await loadConfig(configFile);
  const sources = await readSources(files, false);
  const { documents, problems } = sources;
  if (problems.length > 0) throw new ProblemList([...problems]);
  const located = locate(documents);
  if (located.length === 0) throw new RepriseError("INPUT_WITHOUT_JOBSET", summaryOf(files, sources));
  const policies = policiesIn(documents, config.failurePolicies, namespace);
  const namespaces = namespacesIn(documents);
  const jobSets = located.map(({ jobSet }) => {
    const of = { namespace: namespaceOf(jobSet, namespace), object: jobSet.object };
    const outcome = admitted(admit({ ...of, config: config.injection, policies, namespaces }));
    return { name: jobSetName(jobSet), outcome };
  });
  return { config, jobSets };
}

export async function readInjectedJobSets(
  files: readonly string[],
  configFile: string | undefined,
): Promise<readonly InjectedJobSet[]> {
  const { jobSets } = await injectFiles(files, configFile);
  return jobSets.map(({ name, outcome }) => {
    if (outcome.kind !== "injected") throw new RepriseError("SIMULATION_NOT_INJECTED", { name });
    const jobSet = readJobSet(outcome.object);
    const replicatedJobs = jobSet.replicatedJobs.filter(({ template }) => hasAgent(podSpecOf(template)));
    return { name, jobSet: { ...jobSet, replicatedJobs } };
  });
}

function podSpecOf(template: JobSet["replicatedJobs"][number]["template"]): Readonly<Record<string, unknown>> {
  return asMap(asMap(asMap(template["spec"])["template"])["spec"]);
}
