// The annotation reprise.dev/status: the record of an injection and its inputs. Later updates read it, so it holds no
// time and nothing that two runs could write differently. A user may edit it: never trust its shape. Pure.

import { type Budget, readBudget } from "../../api/budget.ts";
import type { LeftOut } from "../../api/left-out.ts";
import { AGENT, ANNOTATION } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import { recordJson } from "../../api/record-json.ts";
import { VERSION } from "../../api/version.ts";
import { listAt, objectAt, textAt } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import { type ExitCodePolicy, formatCodes, readClasses } from "../../policy/exit-codes.ts";
import {
  type FindPolicy,
  type Inputs,
  type InputTexts,
  inputsOf,
  readInputs,
  SHAPING_ANNOTATIONS,
  shapingTexts,
} from "../inputs.ts";
import { type BackoffLimits, readBackoffLimits } from "./backoff-limits.ts";

export interface InjectionRecord {
  readonly protocol: Protocol;
  readonly agentImage: string;
  /** Pull secrets that injection may have added. */
  readonly imagePullSecrets: readonly string[];
  /** Absent with JobSet's own protocol, whose controller counts the restarts. */
  readonly budget: Budget | undefined;
  readonly inputs: InputTexts;
  /** The resolved exit codes of a named failure policy. The policy may change, a live JobSet does not. */
  readonly exitCodes: ExitCodePolicy | undefined;
  /** Of a JobSet whose failurePolicy has rules. Injection overwrites the fields. */
  readonly backoffLimits: BackoffLimits | undefined;
}

export function writeRecord(record: InjectionRecord, replicatedJobs: number, leftOut: readonly LeftOut[]): string {
  return JSON.stringify({
    version: VERSION,
    protocol: record.protocol,
    agentImage: record.agentImage,
    added: { initContainer: AGENT.container, volume: AGENT.tokenVolume, imagePullSecrets: record.imagePullSecrets },
    // A count, because ten thousand names do not fit into an annotation.
    replicatedJobs,
    ...(record.budget === undefined ? {} : { budget: record.budget }),
    ...(leftOut.length === 0 ? {} : { leftOut }),
    inputs: record.inputs,
    ...(record.exitCodes === undefined
      ? {}
      : { exitCodes: { fail: formatCodes(record.exitCodes.fail), recreate: formatCodes(record.exitCodes.recreate) } }),
    ...(record.backoffLimits === undefined ? {} : { backoffLimits: record.backoffLimits }),
  });
}

/** The record of a JobSet. Undefined when it is missing or unreadable. */
export function readRecord(object: JsonObject): InjectionRecord | undefined {
  const status = recordJson(objectAt(objectAt(object, "metadata"), "annotations"));
  if (status === undefined) return undefined;
  return {
    protocol: status["protocol"] === "jobset" ? "jobset" : "epoch",
    agentImage: textAt(status, "agentImage") ?? "",
    imagePullSecrets: listAt(objectAt(status, "added"), "imagePullSecrets").filter((name) => typeof name === "string"),
    budget: readBudget(status["budget"]),
    inputs: shapingTexts(objectAt(status, "inputs")),
    exitCodes: readExitCodes(objectAt(status, "exitCodes")),
    backoffLimits: readBackoffLimits(objectAt(status, "backoffLimits")),
  };
}

function readExitCodes(written: JsonObject | undefined): ExitCodePolicy | undefined {
  if (written === undefined) return undefined;
  // An empty class is stored as empty text, which is an error where a user writes it.
  const textOf = (of: keyof ExitCodePolicy) => textAt(written, of) || undefined;
  const read = readClasses(
    { fail: textOf("fail"), recreate: textOf("recreate") },
    { fail: "fail", recreate: "recreate" },
  );
  return read.ok ? read.policy : undefined;
}

export function recordedInputs(record: InjectionRecord): Inputs {
  return inputsOf(record.inputs, [], recordedPolicy(record));
}

/**
 * The inputs of a stored JobSet. The record may have been removed while the webhook was down; the annotations remain.
 */
export function storedInputs(object: JsonObject, find: FindPolicy): Inputs {
  const record = readRecord(object);
  return record === undefined ? readInputs(object, [], find) : recordedInputs(record);
}

/** Looks a policy up in the record first, so that a live JobSet keeps the codes that it was injected with. */
export function recordedPolicy(record: InjectionRecord | undefined, find: FindPolicy = unrecorded): FindPolicy {
  return (name) =>
    record?.exitCodes !== undefined && record.inputs[ANNOTATION.failurePolicy] === name
      ? { kind: "found", policy: record.exitCodes }
      : find(name);
}

const unrecorded: FindPolicy = () => ({ kind: "unknown", places: `the record ${ANNOTATION.status}`, known: [] });

export function sameInputs(a: Inputs, b: Inputs): boolean {
  const codes = ({ policy }: Inputs) => `${formatCodes(policy.fail)} ${formatCodes(policy.recreate)}`;
  return SHAPING_ANNOTATIONS.every((key) => a.texts[key] === b.texts[key]) && codes(a) === codes(b);
}
