// The replicatedJobs of a JobSet as stages of one group: which take part, how many slots they have, and which stages
// must be ready or complete before. Pure.
import { hasAgent, restartExitCodeOf } from "../../src/api/agent-container.ts";
import type { Dependency, JobSet, ReplicatedJob } from "../../src/api/jobset.ts";
import { asList, asMap, asText, type Fields } from "../../src/json/fields.ts";
import { type ExitClasses, exitClassesOf } from "./exit-classes.ts";

export interface Stage {
  readonly name: string;
  readonly jobs: number;
  /** Pods of each Job as JobSet creates it. */
  readonly podsPerJob: number;
  /** Whether its Pods carry an agent. A stage without agents has no epochs, but other stages may depend on it. */
  readonly participates: boolean;
  /** How its agents exit when they are told to restart their Pods, if the template says so. */
  readonly agentExitCode?: number;
  /** Names of the containers whose failure restarts the group. */
  readonly workers: readonly string[];
  /** Exit classes of the workers, by container name. */
  readonly exits: Readonly<Record<string, ExitClasses>>;
  /** What JobSet waits for before it starts the stage. */
  readonly prerequisites: readonly Dependency[];
}

export function stagesOf(jobSet: JobSet): readonly Stage[] {
  return jobSet.replicatedJobs.map((replicatedJob, position) => {
    const jobSpec = asMap(replicatedJob.template["spec"]);
    const podSpec = asMap(asMap(jobSpec["template"])["spec"]);
    const exits = exitsOf(podSpec, jobSpec);
    const agentExitCode = restartExitCodeOf(podSpec);
    return {
      name: replicatedJob.name,
      jobs: replicatedJob.replicas,
      podsPerJob: replicatedJob.parallelism,
      participates: hasAgent(podSpec),
      ...(agentExitCode === undefined ? {} : { agentExitCode }),
      workers: Object.keys(exits),
      exits,
      prerequisites: prerequisitesOf(jobSet, replicatedJob, position),
    };
  });
}

/** Injection puts a RestartAllContainers rule on exactly the workers, so the injected template identifies them. */
function exitsOf(podSpec: Fields, jobSpec: Fields): Readonly<Record<string, ExitClasses>> {
  const workers = asList(podSpec["containers"])
    .map(asMap)
    .filter((container) =>
      asList(container["restartPolicyRules"]).some((rule) => asMap(rule)["action"] === "RestartAllContainers"),
    );
  return Object.fromEntries(
    workers.map((container) => [asText(container["name"]) ?? "", exitClassesOf(container, jobSpec)]),
  );
}

/** InOrder is a chain of Ready dependencies. The API does not allow both forms in one JobSet. */
function prerequisitesOf(jobSet: JobSet, replicatedJob: ReplicatedJob, position: number): readonly Dependency[] {
  if (jobSet.startupOrder !== "InOrder") return replicatedJob.dependsOn;
  return jobSet.replicatedJobs.slice(0, position).map(({ name }) => ({ name, status: "Ready" }));
}
