// A JobSet's replicatedJobs as stages of one group: who takes part, how many slots each has, and what must come first. Pure.
import { asList, asMap, asText, type Fields } from "../src/api/fields.ts";
import type { Dependency, JobSet, ReplicatedJob } from "../src/api/jobset.ts";
import { AGENT } from "../src/api/names.ts";

export interface Stage {
  readonly name: string;
  /** Pods that run at the same time when the stage is complete. */
  readonly slots: number;
  readonly jobs: number;
  /** Whether its Pods carry an agent. One without keeps no epoch, but others may wait for it. */
  readonly participates: boolean;
  /** Names of the containers whose failure restarts the group. */
  readonly workers: readonly string[];
  /** What JobSet waits for before it starts the stage. */
  readonly prerequisites: readonly Dependency[];
}

export function stagesOf(jobSet: JobSet): readonly Stage[] {
  return jobSet.replicatedJobs.map((replicatedJob, position) => {
    const podSpec = asMap(asMap(asMap(replicatedJob.template["spec"])["template"])["spec"]);
    return {
      name: replicatedJob.name,
      slots: replicatedJob.replicas * replicatedJob.parallelism,
      jobs: replicatedJob.replicas,
      participates: asList(podSpec["initContainers"]).some((item) => asMap(item)["name"] === AGENT.container),
      workers: workersOf(podSpec),
      prerequisites: prerequisitesOf(jobSet, replicatedJob, position),
    };
  });
}

/** The finished template says best who is a worker: injection put this rule on exactly those. */
function workersOf(podSpec: Fields): readonly string[] {
  return asList(podSpec["containers"]).flatMap((item) => {
    const container = asMap(item);
    const restartsAll = asList(container["restartPolicyRules"]).some(
      (rule) => asMap(rule)["action"] === "RestartAllContainers",
    );
    return restartsAll ? (asText(container["name"]) ?? []) : [];
  });
}

/** InOrder is a chain of Ready dependencies; the API forbids both forms in one JobSet. */
function prerequisitesOf(jobSet: JobSet, replicatedJob: ReplicatedJob, position: number): readonly Dependency[] {
  if (jobSet.startupOrder !== "InOrder") return replicatedJob.dependsOn;
  return jobSet.replicatedJobs.slice(0, position).map(({ name }) => ({ name, status: "Ready" }));
}
