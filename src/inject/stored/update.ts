// Injection on UPDATE. Clients send the plain template again, and JobSet's templates are immutable. So the additions of
// the stored object are added to the new one, and applying an unchanged file changes nothing. A change by the user
// stays, and JobSet's own validation allows or rejects it. Nothing is rejected here. Pure.
import { annotationPath, type Finding, type InjectionOutcome } from "../../api/admission.ts";
import { ANNOTATION, LABEL } from "../../api/names.ts";
import { isObject, listAt, mapShared, objectAt, textAt, withField, withList, withObject } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { withAdditions } from "../additions.ts";
import { HANG_ANNOTATIONS } from "../hang-inputs.ts";
import { type FindPolicy, type Inputs, type InputTexts, inputTexts, SHAPING_ANNOTATIONS } from "../inputs.ts";
import { Overwrites } from "../overwrites.ts";
import { findAgent } from "../parts/agent.ts";
import { storedFailJobSetRule, withFailJobSetRule } from "../parts/failure-policy.ts";
import { podPath, readTemplate } from "../parts/template.ts";
import { isInjected } from "./is-injected.ts";
import { withJobSetDefaults, withReplicatedJobDefaults } from "./jobset-defaults.ts";
import { readBackAdditions } from "./read-back.ts";
import { readRecord, recordedInputs, sameInputs, storedInputs } from "./record.ts";
import { uninject } from "./uninject.ts";

export function injectUpdate(object: JsonObject, stored: JsonObject, find: FindPolicy): InjectionOutcome {
  const storedSpec = objectAt(stored, "spec") ?? {};
  if (!isInjected(storedSpec)) return createdWithoutInjection(object);
  const inputs = storedInputs(stored, find);
  const overwrites = new Overwrites();
  const templates = new StoredTemplates(storedSpec, inputs, readRecord(stored)?.imagePullSecrets ?? []);
  const spec = withObject(object, "spec", (sent) => {
    const written = withoutStaleParts(object, sent, inputs);
    const rule = storedFailJobSetRule(storedSpec);
    const ruled = rule === undefined ? written : withFailJobSetRule(written, rule);
    const updated = withList(withJobSetDefaults(ruled, storedSpec), "replicatedJobs", (jobs) =>
      mapShared(jobs, (job, index) => templates.addTo(job, index, overwrites)),
    );
    return withStoredSpelling(updated, storedSpec);
  });
  const warnings = [...changedInputs(object, inputs.texts), ...overwrites.warnings(), ...templates.warnings()];
  return { kind: "injected", object: withStoredMetadata(spec, stored), warnings };
}

/** A copy of an injected JobSet with changed annotations still has the additions of the original. */
function withoutStaleParts(object: JsonObject, spec: JsonObject, stored: Inputs): JsonObject {
  const record = readRecord(object);
  return record === undefined || sameInputs(recordedInputs(record), stored) ? spec : uninject(spec, record);
}

/** The stored replicatedJobs and their additions. */
class StoredTemplates {
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

  addTo(job: Json, index: number, overwrites: Overwrites): Json {
    const stored = isObject(job) ? this.#counterpart(textAt(job, "name"), index) : undefined;
    if (!isObject(job) || stored === undefined) return job;
    const additions = readBackAdditions(stored, this.#inputs, this.#pullSecrets);
    let injected = job;
    if (additions !== undefined) {
      const sent = findAgent(readTemplate(job)?.podSpec ?? {});
      if (sent !== undefined && !equivalent(sent, additions.agent)) this.#agentPath ??= podPath(index);
      injected = withAdditions(job, additions, index, overwrites);
    }
    const complete = withReplicatedJobDefaults(injected, stored);
    return equivalent(complete, stored) ? stored : complete;
  }

  #counterpart(name: string | undefined, index: number): JsonObject | undefined {
    const there = this.#list[index];
    if (isObject(there) && there["name"] === name) return there;
    return name === undefined ? undefined : this.#byName.get(name);
  }

  warnings(): Finding[] {
    if (this.#agentPath === undefined) return [];
    const message = "the agent of a running JobSet cannot be changed; your change was undone";
    return [{ rule: "agent-immutable", path: `${this.#agentPath}.initContainers`, message }];
  }
}

/** Equivalent fields keep the stored spelling: any textual difference would increase the generation. */
function withStoredSpelling(spec: JsonObject, stored: JsonObject): JsonObject {
  let respelled = spec;
  for (const [key, value] of Object.entries(stored)) {
    const written = spec[key];
    if (written === undefined || !Object.hasOwn(spec, key) || key === "replicatedJobs") continue;
    if (written !== value && equivalent(written, value)) respelled = { ...respelled, [key]: value };
  }
  return respelled;
}

/** A client may drop neither: the controller selects by the label, and the next update reads the record. */
function withStoredMetadata(object: JsonObject, stored: JsonObject): JsonObject {
  const metadata = objectAt(stored, "metadata");
  const label = textAt(objectAt(metadata, "labels"), LABEL.injected);
  const record = textAt(objectAt(metadata, "annotations"), ANNOTATION.status);
  return withObject(object, "metadata", (written) => {
    const labeled =
      label === undefined
        ? written
        : withObject(written, "labels", (labels) => withField(labels, LABEL.injected, label));
    return record === undefined
      ? labeled
      : withObject(labeled, "annotations", (annotations) => withField(annotations, ANNOTATION.status, record));
  });
}

const RECREATE = "to apply the change, delete the JobSet and create it again";

function changedInputs(object: JsonObject, recorded: InputTexts): Finding[] {
  const current = inputTexts(object);
  // The controller reads this one at any time. Only as the first of its kind it would change the templates.
  const isLive = (key: string) =>
    key === ANNOTATION.onHang && HANG_ANNOTATIONS.some((each) => recorded[each] !== undefined);
  const changed = SHAPING_ANNOTATIONS.filter((key) => current[key] !== recorded[key] && !isLive(key));
  const toggle = textAt(objectAt(objectAt(object, "metadata"), "annotations"), ANNOTATION.inject) === "false";
  const message = `a running JobSet keeps the settings it was injected with; ${RECREATE}`;
  return [...(toggle ? [ANNOTATION.inject] : []), ...changed].map((key) => ({
    rule: "annotation-immutable",
    path: annotationPath(key),
    message,
  }));
}

function createdWithoutInjection(object: JsonObject): InjectionOutcome {
  const isRequested = textAt(objectAt(objectAt(object, "metadata"), "annotations"), ANNOTATION.inject) === "true";
  const path = annotationPath(ANNOTATION.inject);
  const message = `this JobSet was created without injection; ${RECREATE}`;
  const warnings = isRequested ? [{ rule: "created-without-injection", path, message }] : [];
  return { kind: "skipped", reason: "created-without-injection", warnings };
}
