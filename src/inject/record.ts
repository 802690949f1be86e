// The annotation reprise.dev/status: who injected, and from which inputs. It says how to read a stored JobSet back, so it
// holds no time and nothing that two runs could write differently. What a user wrote into it by hand is never trusted
// to have a shape.
import type { JsonObject } from "../api/admission.ts";
import { AGENT, ANNOTATION } from "../api/names.ts";
import { VERSION } from "../api/version.ts";
import { type InputTexts, inputTexts, SHAPING_ANNOTATIONS } from "./inputs.ts";
import { isObject, listAt, objectAt, textAt } from "./json.ts";
import type { Protocol } from "./protocol.ts";

export interface InjectionRecord {
  readonly protocol: Protocol;
  readonly agentImage: string;
  /** Secrets that injection may have added. */
  readonly imagePullSecrets: readonly string[];
  readonly inputs: InputTexts;
}

export function writeRecord(record: InjectionRecord, replicatedJobs: number): string {
  return JSON.stringify({
    version: VERSION,
    protocol: record.protocol,
    agentImage: record.agentImage,
    added: { initContainer: AGENT.container, volume: AGENT.tokenVolume, imagePullSecrets: record.imagePullSecrets },
    // A count: ten thousand names would not fit into an annotation.
    replicatedJobs,
    inputs: record.inputs,
  });
}

/** The record on a JobSet, or undefined when there is none that can be read. */
export function readRecord(object: JsonObject): InjectionRecord | undefined {
  const text = textAt(objectAt(objectAt(object, "metadata"), "annotations"), ANNOTATION.status);
  const status = text === undefined ? undefined : parseObject(text);
  if (status === undefined) return undefined;
  const inputs = objectAt(status, "inputs");
  const texts: Record<string, string> = {};
  for (const key of SHAPING_ANNOTATIONS) {
    const input = textAt(inputs, key);
    if (input !== undefined) texts[key] = input;
  }
  return {
    protocol: status["protocol"] === "jobset" ? "jobset" : "epoch",
    agentImage: textAt(status, "agentImage") ?? "",
    imagePullSecrets: listAt(objectAt(status, "added"), "imagePullSecrets").filter((name) => typeof name === "string"),
    inputs: texts,
  };
}

/** The inputs of a stored JobSet. Somebody may have removed the record while the webhook was down; the annotations stay. */
export function recordedInputs(object: JsonObject): InputTexts {
  return readRecord(object)?.inputs ?? inputTexts(object);
}

export function sameInputs(a: InputTexts, b: InputTexts): boolean {
  return SHAPING_ANNOTATIONS.every((key) => a[key] === b[key]);
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
