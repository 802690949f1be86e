// UPDATE: clients send the plain template again, and JobSet's templates are immutable. What injection put into the stored
// object is put into the new one, so that an unchanged file means an unchanged JobSet. A change that the user made stays
// one: it goes on to JobSet's own validation, which refuses or allows it. Nothing is refused here. Pure.
import type { Finding, InjectionOutcome } from "../../api/admission.ts";
import { ANNOTATION, LABEL } from "../../api/names.ts";
import { isObject, listAt, mapShared, objectAt, textAt, withField, withList, withObject } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { withAdditions } from "../additions.ts";
import { type FindPolicy, type Inputs, type InputTexts, inputTexts, SHAPING_ANNOTATIONS } from "../inputs.ts";
import { Overwrites } from "../overwrites.ts";
import { findAgent } from "../parts/agent.ts";
import { storedFailJobSetRule, withFailJobSetRule } from "../parts/failure-policy.ts";
import { podPath, readTemplate } from "../parts/template.ts";
import { withJobSetDefaults, withReplicatedJobDefaults } from "./jobset-defaults.ts";
import { readBackAdditions } from "./read-back.ts";
import { readRecord, recordedInputs, sameInputs, storedInputs } from "./record.ts";
import { withdraw } from "./uninject.ts";

export function restore(object: JsonObject, stored: JsonObject, find: FindPolicy): InjectionOutcome {
  const storedSpec = objectAt(stored, "spec") ?? {};
  if (!isInjected(storedSpec)) return createdWithoutInjection(object);
  const inputs = storedInputs(stored, find);
  const overwrites = new Overwrites();
  const templates = new Templates(storedSpec, inputs, readRecord(stored)?.imagePullSecrets ?? []);
  const spec = withObject(object, "spec", (sent) => {
    const written = withoutStaleParts(object, sent, inputs);
    const rule = storedFailJobSetRule(storedSpec);
    const ruled = rule === undefined ? written : withFailJobSetRule(written, rule);
    const restored = withList(withJobSetDefaults(ruled, storedSpec), "replicatedJobs", (jobs) =>
      mapShared(jobs, (job, index) => templates.restore(job, index, overwrites)),
    );
    return withStoredSpelling(restored, storedSpec);
  });
  const warnings = [...changedInputs(object, inputs.texts), ...overwrites.warnings(), ...templates.warnings()];
  return { kind: "injected", object: withMarks(spec, stored), warnings };
}

/** The file of somebody who copied an injected JobSet and changed its annotations has the parts of the original in it. */
function withoutStaleParts(object: JsonObject, spec: JsonObject, stored: Inputs): JsonObject {
  const record = readRecord(object);
  return record === undefined || sameInputs(recordedInputs(record), stored) ? spec : withdraw(spec, record);
}

export function isInjected(spec: JsonObject): boolean {
  return listAt(spec, "replicatedJobs").some((job) => {
    const template = readTemplate(job);
    return template !== undefined && findAgent(template.podSpec) !== undefined;
  });
}

/** The stored replicatedJobs and what injection put into them. */
class Templates {
  readonly #list: readonly Json[];
  readonly #byName = new Map<string, JsonObject>();
  readonly #inputs: Inputs;
  readonly #pullSecrets: readonly string[];
  #agentPath: string | undefined;

  constructor(storedSpec: JsonObject, inputs: Inputs, pullSecrets: readonly string[]) {
    this.#list = listAt(storedSpec, "replicatedJobs");
    for (const job of this.#list.filter(isObject)) this.#byName.set(textAt(job, "name") ?? "", job);
    this.#inputs = inputs;
    this.#pullSecrets = pullSecrets;
  }

  restore(job: Json, index: number, overwrites: Overwrites): Json {
    const stored = isObject(job) ? this.#counterpart(textAt(job, "name"), index) : undefined;
    if (!isObject(job) || stored === undefined) return job;
    const additions = readBackAdditions(stored, this.#inputs, this.#pullSecrets);
    let restored = job;
    if (additions !== undefined) {
      const sent = findAgent(readTemplate(job)?.podSpec ?? {});
      if (sent !== undefined && !equivalent(sent, additions.agent)) this.#agentPath ??= podPath(index);
      restored = withAdditions(job, additions, index, overwrites);
    }
    const complete = withReplicatedJobDefaults(restored, stored);
    return equivalent(complete, stored) ? stored : complete;
  }

  #counterpart(name: string | undefined, index: number): JsonObject | undefined {
    const there = this.#list[index];
    if (isObject(there) && there["name"] === name) return there;
    return name === undefined ? undefined : this.#byName.get(name);
  }

  warnings(): Finding[] {
    if (this.#agentPath === undefined) return [];
    const message = "the agent of a running JobSet stays as it is; your change to it was undone";
    return [{ rule: "agent-immutable", path: `${this.#agentPath}.initContainers`, message }];
  }
}

/** Fields that mean the same as the stored ones take their spelling: the generation counts every difference in text. */
function withStoredSpelling(spec: JsonObject, stored: JsonObject): JsonObject {
  let restored = spec;
  for (const [key, value] of Object.entries(stored)) {
    const written = spec[key];
    if (written === undefined || !Object.hasOwn(spec, key) || key === "replicatedJobs") continue;
    if (written !== value && equivalent(written, value)) restored = { ...restored, [key]: value };
  }
  return restored;
}

/** The controller finds the JobSet by its label, and the next update reads the record: a client may drop neither. */
function withMarks(object: JsonObject, stored: JsonObject): JsonObject {
  const metadata = objectAt(stored, "metadata");
  const label = textAt(objectAt(metadata, "labels"), LABEL.injected);
  const record = textAt(objectAt(metadata, "annotations"), ANNOTATION.status);
  return withObject(object, "metadata", (written) => {
    const labelled =
      label === undefined
        ? written
        : withObject(written, "labels", (labels) => withField(labels, LABEL.injected, label));
    return record === undefined
      ? labelled
      : withObject(labelled, "annotations", (annotations) => withField(annotations, ANNOTATION.status, record));
  });
}

const RECREATE = "delete and create the JobSet again for it to take effect";

function changedInputs(object: JsonObject, recorded: InputTexts): Finding[] {
  const current = inputTexts(object);
  const changed = SHAPING_ANNOTATIONS.filter((key) => current[key] !== recorded[key]);
  const toggle = textAt(objectAt(objectAt(object, "metadata"), "annotations"), ANNOTATION.inject) === "false";
  const message = `a running JobSet keeps what it was injected with; ${RECREATE}`;
  return [...(toggle ? [ANNOTATION.inject] : []), ...changed].map((key) => ({
    rule: "annotation-immutable",
    path: `metadata.annotations[${key}]`,
    message,
  }));
}

function createdWithoutInjection(object: JsonObject): InjectionOutcome {
  const asked = textAt(objectAt(objectAt(object, "metadata"), "annotations"), ANNOTATION.inject) === "true";
  const path = `metadata.annotations[${ANNOTATION.inject}]`;
  const message = `this JobSet was created without injection; ${RECREATE}`;
  const warnings = asked ? [{ rule: "created-without-injection", path, message }] : [];
  return { kind: "skipped", reason: "created-without-injection", warnings };
}
