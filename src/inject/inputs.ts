// The annotations of a JobSet that configure its injection, read and checked once. Pure.
import { annotationPath, type Finding } from "../api/admission.ts";
import { DURATION_FORM, parseDuration } from "../api/duration.ts";
import { ANNOTATION } from "../api/names.ts";
import { quoted } from "../json/brief.ts";
import { objectAt, textAt } from "../json/edit.ts";
import { quantityValue } from "../json/quantity.ts";
import type { JsonObject } from "../json/types.ts";
import { type ExitCodePolicy, RESTART_EVERYTHING } from "../policy/exit-codes.ts";
import type { PolicyAnswer } from "../policy/lookup.ts";
import { resolveExitCodes } from "../policy/resolve.ts";
import { HANG_ANNOTATIONS, type HangInputs, readHangInputs } from "./hang-inputs.ts";

/** The annotations that configure an injection, as written. The record keeps them. */
export type InputTexts = { readonly [key: string]: string };

/** In the order of the record. */
export const SHAPING_ANNOTATIONS: readonly string[] = [
  ANNOTATION.replicatedJobs,
  ANNOTATION.workerContainers,
  ANNOTATION.failurePolicy,
  ANNOTATION.failExitCodes,
  ANNOTATION.recreateExitCodes,
  ANNOTATION.nodeLossGrace,
  ANNOTATION.agentCpu,
  ANNOTATION.agentMemory,
  ANNOTATION.keepSharedMemory,
  ANNOTATION.safeToForcefullyDelete,
  ...HANG_ANNOTATIONS,
];

/** Looks up a failure policy by name. */
export type FindPolicy = (name: string) => PolicyAnswer;

export interface Inputs {
  readonly texts: InputTexts;
  /** The named policy, merged with the exit-code annotations. */
  readonly policy: ExitCodePolicy;
  /** Names as written. Undefined means all. */
  readonly replicatedJobs: ReadonlySet<string> | undefined;
  readonly workerContainers: ReadonlySet<string> | undefined;
  readonly nodeLossGraceSeconds: number | undefined;
  readonly agentCpu: string | undefined;
  readonly agentMemory: string | undefined;
  readonly keepsSharedMemory: boolean;
  readonly safeToForcefullyDelete: string | undefined;
  /** Undefined if the JobSet does not ask for hang detection. */
  readonly hangs: HangInputs | undefined;
}

/** Less is a typing error: "64m" instead of "64Mi" means a fraction of a byte. */
const LEAST_MEMORY = "1Mi";

/** Reads the inputs of a JobSet. An invalid value adds a finding and reads as not set. */
export function readInputs(object: JsonObject, errors: Finding[], find: FindPolicy): Inputs {
  return inputsOf(inputTexts(object), errors, find);
}

export function inputTexts(object: JsonObject): InputTexts {
  return shapingTexts(objectAt(objectAt(object, "metadata"), "annotations"));
}

/** From annotations, or from the inputs in a record. */
export function shapingTexts(from: JsonObject | undefined): InputTexts {
  const texts: Record<string, string> = {};
  for (const key of SHAPING_ANNOTATIONS) {
    const text = textAt(from, key);
    if (text !== undefined) texts[key] = text;
  }
  return texts;
}

export function inputsOf(texts: InputTexts, errors: Finding[], find: FindPolicy): Inputs {
  const parsed = resolveExitCodes(texts, find);
  if (!parsed.ok) errors.push(...parsed.errors);
  return {
    texts,
    policy: parsed.ok ? parsed.policy : RESTART_EVERYTHING,
    replicatedJobs: names(texts, ANNOTATION.replicatedJobs, "replicatedJob", errors),
    workerContainers: names(texts, ANNOTATION.workerContainers, "container", errors),
    nodeLossGraceSeconds: graceSeconds(texts[ANNOTATION.nodeLossGrace], errors),
    agentCpu: quantity(texts, ANNOTATION.agentCpu, "0", '"100m"', errors),
    agentMemory: quantity(texts, ANNOTATION.agentMemory, LEAST_MEMORY, '"64Mi"', errors),
    keepsSharedMemory: texts[ANNOTATION.keepSharedMemory] === "true",
    safeToForcefullyDelete: texts[ANNOTATION.safeToForcefullyDelete],
    hangs: readHangInputs(texts, errors),
  };
}

function names(texts: InputTexts, key: string, kind: string, errors: Finding[]): ReadonlySet<string> | undefined {
  const text = texts[key];
  if (text === undefined) return undefined;
  const found = new Set(text.split(",").map((name) => name.trim()));
  found.delete("");
  if (found.size > 0) return found;
  errors.push(
    finding(
      "participation",
      key,
      `${quoted(text)} names no ${kind}; list names separated by commas, or remove the annotation to select all`,
    ),
  );
  return undefined;
}

function graceSeconds(text: string | undefined, errors: Finding[]): number | undefined {
  if (text === undefined) return undefined;
  const span = parseDuration(text);
  if (span !== undefined) return Math.ceil(span / 1_000);
  errors.push(
    finding(
      "node-loss-grace",
      ANNOTATION.nodeLossGrace,
      `${quoted(text)} is not ${DURATION_FORM}; write a number with its unit`,
    ),
  );
  return undefined;
}

function quantity(
  texts: InputTexts,
  key: string,
  least: string,
  example: string,
  errors: Finding[],
): string | undefined {
  const text = texts[key];
  if (text === undefined) return undefined;
  const value = quantityValue(text);
  if (value !== undefined && value > 0n && value >= (quantityValue(least) ?? 0n)) return text;
  const above = least === "0" ? "above 0" : `of at least ${least}`;
  errors.push(
    finding("agent-resources", key, `${quoted(text)} is not a quantity ${above}; use a value such as ${example}`),
  );
  return undefined;
}

function finding(rule: string, key: string, message: string): Finding {
  return { rule, path: annotationPath(key), message };
}
