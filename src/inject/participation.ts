// Which replicatedJobs take part, and which of their containers are workers. Pure.
import { annotationPath, type Finding } from "../api/admission.ts";
import { ANNOTATION } from "../api/names.ts";
import { suggestion } from "../api/nearest.ts";
import type { Protocol } from "../api/protocol.ts";
import { quoted } from "../json/brief.ts";
import { isObject, textAt } from "../json/edit.ts";
import type { Json } from "../json/types.ts";
import type { Inputs } from "./inputs.ts";
import { findAgent } from "./parts/agent.ts";
import { containerNames, podPath, readTemplate, type Template } from "./parts/template.ts";
import type { Unsupported } from "./parts/unsupported.ts";
import { unsupportedBy } from "./supported.ts";

export interface Participant {
  /** Position in spec.replicatedJobs. */
  readonly index: number;
  readonly template: Template;
  /** Container names in the order of the Pod template. At least one. */
  readonly workers: readonly string[];
}

/** A replicatedJob that should take part and cannot restart in place. */
export interface Outsider {
  readonly name: string;
  readonly problem: Unsupported;
  /** Undefined if its template is malformed. */
  readonly participant?: Participant;
}

interface Participation {
  readonly participants: readonly Participant[];
  readonly outsiders: readonly Outsider[];
}

/** Unknown names that are reported. A longer list does not help anyone. */
const MAX_UNKNOWN = 5;

export function findParticipants(replicatedJobs: readonly Json[], inputs: Inputs, errors: Finding[]): Participation {
  const { replicatedJobs: chosen, workerContainers: containers } = inputs;
  const participants: Participant[] = [];
  const outsiders: Outsider[] = [];
  const jobNames = new Set<string>();
  const containersSeen = new Set<string>();
  for (const [index, item] of replicatedJobs.entries()) {
    const template = readTemplate(item);
    if (template === undefined) {
      const name = textAt(isObject(item) ? item : undefined, "name") ?? "";
      jobNames.add(name);
      if (chosen?.has(name) !== false) outsiders.push({ name, problem: malformed(index) });
      continue;
    }
    jobNames.add(template.name);
    if (chosen !== undefined && !chosen.has(template.name)) {
      if (findAgent(template.podSpec) !== undefined) errors.push(leftoverAgent(index));
      continue;
    }
    for (const name of containers === undefined ? [] : containerNames(template)) containersSeen.add(name);
    const workers = workersOf(template, containers);
    if (workers.length === 0) {
      errors.push(missingWorker(index, template));
      continue;
    }
    const participant = { index, template, workers };
    const problem = unsupportedBy(template, index, workers, inputs);
    if (problem === undefined) participants.push(participant);
    else outsiders.push({ name: template.name, problem, participant });
  }
  errors.push(...unknown(ANNOTATION.replicatedJobs, "replicatedJob", chosen ?? [], jobNames));
  errors.push(...unknown(ANNOTATION.workerContainers, "container", containers ?? [], containersSeen));
  return { participants, outsiders };
}

function malformed(index: number): Unsupported {
  return {
    rule: "malformed",
    path: `spec.replicatedJobs[${index}]`,
    problem: "has no name, or no containers with names at template.spec.template.spec",
    fix: "add them, and write initContainers and volumes as lists",
  };
}

/** JobSet's own controller waits for every Pod of the JobSet to report an attempt, and its webhook checks every Job. */
export function checkWholeGroup(participants: number, replicatedJobs: number, protocol: Protocol): readonly Finding[] {
  if (protocol === "epoch" || participants === replicatedJobs) return [];
  const message =
    `leaves out ${replicatedJobs - participants} replicatedJobs, but with restartStrategy InPlaceRestart all of them ` +
    "restart together; remove the annotation, or use another restartStrategy";
  return [{ rule: "participation", path: annotationPath(ANNOTATION.replicatedJobs), message }];
}

function workersOf(template: Template, chosen: ReadonlySet<string> | undefined): readonly string[] {
  const all = containerNames(template);
  return chosen === undefined ? all : all.filter((name) => chosen.has(name));
}

/** The JobSet is a copy of an injected one, without the record. */
function leftoverAgent(index: number): Finding {
  return {
    rule: "participation",
    path: `${podPath(index)}.initContainers`,
    message:
      `has an agent, but ${ANNOTATION.replicatedJobs} does not list this replicatedJob; ` +
      "remove the agent, or add the replicatedJob to the annotation",
  };
}

function missingWorker(index: number, template: Template): Finding {
  return {
    rule: "participation",
    path: `spec.replicatedJobs[${index}]`,
    message:
      `has none of the containers in ${ANNOTATION.workerContainers}; add one of ` +
      `${containerNames(template).slice(0, MAX_UNKNOWN).join(", ")} to it, ` +
      `or exclude this replicatedJob with ${ANNOTATION.replicatedJobs}`,
  };
}

function unknown(key: string, kind: string, names: Iterable<string>, known: ReadonlySet<string>): Finding[] {
  return [...names]
    .filter((name) => !known.has(name))
    .slice(0, MAX_UNKNOWN)
    .map((name) => ({
      rule: "participation",
      path: annotationPath(key),
      message: `${quoted(name)} is not a ${kind} of this JobSet; ${suggestion(name, known) ?? "remove it"}`,
    }));
}
