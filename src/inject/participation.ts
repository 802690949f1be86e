// Which replicatedJobs take part, and which of their containers are workers. Pure.
import type { Finding } from "../api/admission.ts";
import { ANNOTATION } from "../api/names.ts";
import { suggestion } from "../api/nearest.ts";
import type { Protocol } from "../api/protocol.ts";
import type { Json } from "../json/types.ts";
import { type Inputs, shown } from "./inputs.ts";
import { findAgent } from "./parts/agent.ts";
import { containerNames, podPath, readTemplate, type Template } from "./parts/template.ts";

export interface Participant {
  /** Position in spec.replicatedJobs. */
  readonly index: number;
  readonly template: Template;
  /** Names, in the order of the containers; at least one. */
  readonly workers: readonly string[];
}

/** Of the names that do not exist, so many are reported: more would be noise. */
const MAX_UNKNOWN = 5;

export function findParticipants(replicatedJobs: readonly Json[], inputs: Inputs, errors: Finding[]): Participant[] {
  const { replicatedJobs: chosen, workerContainers: containers } = inputs;
  const participants: Participant[] = [];
  const jobNames = new Set<string>();
  const containersSeen = new Set<string>();
  for (const [index, item] of replicatedJobs.entries()) {
    const template = readTemplate(item);
    if (template === undefined) {
      errors.push({
        rule: "malformed",
        path: `spec.replicatedJobs[${index}]`,
        message:
          "must have a name and, at template.spec.template.spec, containers with names " +
          "(and lists in initContainers and volumes, if any); correct it",
      });
      continue;
    }
    jobNames.add(template.name);
    if (chosen !== undefined && !chosen.has(template.name)) {
      if (findAgent(template.podSpec) !== undefined) errors.push(withLeftover(index));
      continue;
    }
    for (const name of containers === undefined ? [] : containerNames(template)) containersSeen.add(name);
    const workers = workersOf(template, containers);
    if (workers.length > 0) participants.push({ index, template, workers });
    else errors.push(withoutWorker(index, template));
  }
  errors.push(...unknown(ANNOTATION.replicatedJobs, "replicatedJob", chosen ?? [], jobNames));
  errors.push(...unknown(ANNOTATION.workerContainers, "container", containers ?? [], containersSeen));
  return participants;
}

/** Upstream's controller waits for every Pod of the JobSet to report an attempt, and its webhook checks every Job. */
export function checkWholeGroup(participants: number, replicatedJobs: number, protocol: Protocol): readonly Finding[] {
  if (protocol === "epoch" || participants === replicatedJobs) return [];
  const message =
    `leaves out ${replicatedJobs - participants} replicatedJobs, but with restartStrategy InPlaceRestart all of them ` +
    "restart together; remove the annotation, or use another restartStrategy";
  return [{ rule: "participation", path: `metadata.annotations[${ANNOTATION.replicatedJobs}]`, message }];
}

function workersOf(template: Template, chosen: ReadonlySet<string> | undefined): readonly string[] {
  const all = containerNames(template);
  return chosen === undefined ? all : all.filter((name) => chosen.has(name));
}

/** From a copied JobSet whose record did not come along. */
function withLeftover(index: number): Finding {
  return {
    rule: "participation",
    path: `${podPath(index)}.initContainers`,
    message: `has an agent, but ${ANNOTATION.replicatedJobs} leaves this replicatedJob out; remove the agent, or name it there`,
  };
}

function withoutWorker(index: number, template: Template): Finding {
  return {
    rule: "participation",
    path: `spec.replicatedJobs[${index}]`,
    message:
      `has none of the containers that ${ANNOTATION.workerContainers} names; add one of ` +
      `${containerNames(template).slice(0, MAX_UNKNOWN).join(", ")}, or leave this replicatedJob out with ${ANNOTATION.replicatedJobs}`,
  };
}

function unknown(key: string, kind: string, names: Iterable<string>, known: ReadonlySet<string>): Finding[] {
  return [...names]
    .filter((name) => !known.has(name))
    .slice(0, MAX_UNKNOWN)
    .map((name) => ({
      rule: "participation",
      path: `metadata.annotations[${key}]`,
      message: `${shown(name)} is not a ${kind} of this JobSet; ${suggestion(name, known) ?? "remove it"}`,
    }));
}
