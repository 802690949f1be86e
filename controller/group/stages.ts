// A JobSet's replicatedJobs as stages of one group: who takes part, how many slots each has, and what must come first. Pure.

import { hasAgent } from "../../src/api/agent-container.ts";
import type { Dependency, JobSet, ReplicatedJob } from "../../src/api/jobset.ts";
import { asList, asMap, asText, type Fields } from "../../src/json/fields.ts";
import { type ExitClasses, exitClassesOf } from "./exit-classes.ts";

export interface Stage {
  readonly name: string;
  readonly jobs: number;
  /** Pods of each Job, as JobSet makes it. */
  readonly podsPerJob: number;
  /** Whether its Pods carry an agent. One without keeps no epoch, but others may wait for it. */
  readonly participates: boolean;
  /** Names of the containers whose failure restarts the group. */
  readonly workers: readonly string[];
  /** What their exit codes ask for, by their names. */
  readonly exits: Readonly<Record<string, ExitClasses>>;
  /** What JobSet waits for before it starts the stage. */
  readonly prerequisites: readonly Dependency[];
}

export function stagesOf(jobSet: JobSet): readonly Stage[] {
  return jobSet.replicatedJobs.map((replicatedJob, position) => {
    const jobSpec = asMap(replicatedJob.template["spec"]);
    const podSpec = asMap(asMap(jobSpec["template"])["spec"]);
    const exits = exitsOf(podSpec, jobSpec);
    return {
      name: replicatedJob.name,
      jobs: replicatedJob.replicas,
      podsPerJob: replicatedJob.parallelism,
      participates: hasAgent(podSpec),
      workers: Object.keys(exits),
      exits,
      prerequisites: prerequisitesOf(jobSet, replicatedJob, position),
    };
  });
}

/** The finished template says best who is a worker: injection put this rule on exactly those. */
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

/** InOrder is a chain of Ready dependencies; the API forbids both forms in one JobSet. */
function prerequisitesOf(jobSet: JobSet, replicatedJob: ReplicatedJob, position: number): readonly Dependency[] {
  if (jobSet.startupOrder !== "InOrder") return replicatedJob.dependsOn;
  return jobSet.replicatedJobs.slice(0, position).map(({ name }) => ({ name, status: "Ready" }));
}
