// The injection core: takes a JobSet on its way into the cluster and returns it able to restart in place. Pure: the
// same request always gives the same answer, the input is never mutated, and no input makes it throw.
import { annotationPath, type Finding, type InjectionOutcome, type SkipReason } from "../api/admission.ts";
import { isJobSet } from "../api/jobset.ts";
import { ANNOTATION, LABEL, MAX_INT32 } from "../api/names.ts";
import type { NamespaceLookup } from "../api/namespace.ts";
import { protocolOf } from "../api/protocol.ts";
import { quoted } from "../json/brief.ts";
import { isObject, listAt, mapShared, objectAt, textAt, withField, withList, withObject } from "../json/edit.ts";
import { asCount, asMap } from "../json/fields.ts";
import type { Json, JsonObject } from "../json/types.ts";
import { failJobSetRule } from "../policy/compile.ts";
import { createPolicyLookup, type PolicyLookup } from "../policy/lookup.ts";
import { type Additions, withAdditions } from "./additions.ts";
import { budgetOfNew } from "./budget.ts";
import { additionsBuilder } from "./build.ts";
import { type FindPolicy, type Inputs, readInputs } from "./inputs.ts";
import { leftOutWarnings, recordedLeftOut, refusals } from "./left-out.ts";
import { lossWarnings } from "./losses.ts";
import { Overwrites } from "./overwrites.ts";
import { findUpstreamAgent } from "./own-agent.ts";
import { checkWholeGroup, findParticipants, type Outsider, type Participant } from "./participation.ts";
import { type AgentContext, findAgent } from "./parts/agent.ts";
import { checkRuleName, withFailJobSetRule } from "./parts/failure-policy.ts";
import { checkProgressFile, progressSource } from "./parts/progress.ts";
import type { InjectionSettings } from "./settings.ts";
import { writtenBackoffLimits } from "./stored/backoff-limits.ts";
import { isInjected } from "./stored/is-injected.ts";
import { readRecord, recordedInputs, sameInputs, writeRecord } from "./stored/record.ts";
import { uninject } from "./stored/uninject.ts";
import { injectUpdate } from "./stored/update.ts";

export interface InjectionRequest {
  readonly operation: "CREATE" | "UPDATE";
  readonly namespace: string;
  readonly object: JsonObject;
  /** The stored object, on UPDATE. */
  readonly oldObject?: JsonObject;
  readonly config: InjectionSettings;
  /** Failure policies by name. Without it no policy is known. */
  readonly policies?: PolicyLookup;
  /** The annotations of Namespaces. Without it no Namespace has any. */
  readonly namespaces?: NamespaceLookup;
}

/** What injection looks up by name. */
export type Lookups = Required<Pick<InjectionRequest, "policies" | "namespaces">>;

const NO_POLICIES = createPolicyLookup({ configured: new Map() });

/** The policy lookup for the namespace of the request. */
export function policiesOf({ namespace, policies = NO_POLICIES }: InjectionRequest): FindPolicy {
  return (name) => policies(namespace, name);
}

/** The managedBy value of JobSet's own controller. */
const JOBSET_CONTROLLER = "jobset.sigs.k8s.io/jobset-controller";

/** The webhook's namespaceSelector excludes these too. This holds even if an operator changes the selector. */
const SYSTEM_NAMESPACES: ReadonlySet<string> = new Set(["kube-system", "kube-public", "kube-node-lease"]);

export function inject(request: InjectionRequest): InjectionOutcome {
  const { object, oldObject, operation } = request;
  if (!isJobSet(object)) return skipped("not-a-jobset");
  if ([object, oldObject].some(isBeingDeleted)) return skipped("being-deleted");
  if (operation === "UPDATE") return injectUpdate(object, oldObject ?? {}, policiesOf(request));
  return skipOnCreate(request) ?? injectNew(request);
}

function isBeingDeleted(object: JsonObject | undefined): boolean {
  return textAt(objectAt(object, "metadata"), "deletionTimestamp") !== undefined;
}

function skipOnCreate({ object, namespace, config }: InjectionRequest): InjectionOutcome | undefined {
  const spec = objectAt(object, "spec") ?? {};
  const toggle = objectAt(objectAt(object, "metadata"), "annotations")?.[ANNOTATION.inject];
  if (SYSTEM_NAMESPACES.has(namespace)) return skipped("namespace-not-enabled");
  if (toggle === "false") return skipped("disabled-by-annotation", leftoverAgents(spec));
  if (toggle !== undefined && toggle !== null && toggle !== "true") {
    const found = typeof toggle === "string" ? quoted(toggle) : "the value";
    const message = `${found} is neither "true" nor "false"; use one of them, in quotes`;
    const error = { rule: "toggle", path: annotationPath(ANNOTATION.inject), message };
    return { kind: "refused", errors: [error], warnings: [] };
  }
  if (toggle !== "true" && config.default === "disabled") return skipped("not-requested");
  const managedBy = textAt(spec, "managedBy");
  if (managedBy !== undefined && managedBy !== JOBSET_CONTROLLER) return skipped("managed-by-other");
  if (listAt(spec, "replicatedJobs").length === 0) return skipped("no-replicated-jobs");
  const upstreamAgent = findUpstreamAgent(spec);
  return upstreamAgent === undefined ? undefined : skipped("has-its-own-agent", [upstreamAgent]);
}

function skipped(reason: SkipReason, warnings: readonly Finding[] = []): InjectionOutcome {
  return { kind: "skipped", reason, warnings };
}

function leftoverAgents(spec: JsonObject): Finding[] {
  if (!isInjected(spec)) return [];
  const message = "has the agent of the JobSet it was copied from, and its Pods will wait at the barrier; remove it";
  return [{ rule: "leftover-agent", path: "spec.replicatedJobs", message }];
}

function injectNew(request: InjectionRequest): InjectionOutcome {
  const { object, config: settings } = request;
  const errors: Finding[] = [];
  const inputs = readInputs(object, errors, policiesOf(request));
  const record = readRecord(object);
  const written = objectAt(object, "spec") ?? {};
  const spec = record === undefined || sameInputs(recordedInputs(record), inputs) ? written : uninject(written, record);
  const context: AgentContext = { settings, inputs, protocol: protocolOf(spec) };
  const jobs = listAt(spec, "replicatedJobs");
  const { participants, outsiders } = findParticipants(jobs, inputs, errors);
  const chosen = participants.length + outsiders.length;
  if (errors.length === 0) errors.push(...checkWholeGroup(chosen, jobs.length, context.protocol));
  errors.push(...refusals(settings.onUnsupported === "refuse" ? outsiders : outsiders.filter(hasAgent)));
  errors.push(
    ...toFindings(
      checkProgressFile(sourcesOf(participants, inputs), context.protocol === "epoch" ? inputs.hangs : undefined),
    ),
  );
  const failsJobSet = inputs.policy.fail.length > 0;
  if (failsJobSet) errors.push(...toFindings(checkRuleName(spec)));
  if (errors.length > 0) return { kind: "refused", errors, warnings: [] };
  // JobSet's own controller restarts all Pods of the JobSet or none.
  if (participants.length === 0 || (context.protocol === "jobset" && outsiders.length > 0)) {
    return skipped("all-left-out", leftOutWarnings(outsiders, "JobSet"));
  }

  const overwrites = new Overwrites();
  const build = additionsBuilder(context, groupSizeOf(jobs, participants));
  const additions = new Map(participants.map((each) => [each.index, build(each)]));
  const templates = withTemplates(spec, additions, overwrites);
  const targets = participants.length === jobs.length ? [] : participants.map(({ template }) => template.name);
  const injected = failsJobSet ? withFailJobSetRule(templates, failJobSetRule(targets)) : templates;
  const { agentImage, imagePullSecrets } = settings;
  const exitCodes = inputs.texts[ANNOTATION.failurePolicy] === undefined ? undefined : inputs.policy;
  const { protocol } = context;
  const budget = protocol === "epoch" ? budgetOfNew(request, participants, record?.budget) : undefined;
  // A JobSet that is injected already has the limits only in its record.
  const backoffLimits = record?.backoffLimits ?? writtenBackoffLimits(spec, participants);
  const status = writeRecord(
    { protocol, agentImage, imagePullSecrets, budget: budget?.budget, inputs: inputs.texts, exitCodes, backoffLimits },
    participants.length,
    recordedLeftOut(outsiders),
  );
  return {
    kind: "injected",
    object: withInjectionMetadata(injected === written ? object : { ...object, spec: injected }, status),
    warnings: [
      ...leftOutWarnings(outsiders, "replicatedJob"),
      ...overwrites.warnings(),
      ...(budget?.warnings ?? []),
      // With its own protocol JobSet restarts in place too, so nothing is lost.
      ...(budget === undefined ? [] : lossWarnings(spec, participants, budget.budget)),
    ],
  };
}

/** How the agent of each participant sees its workers. */
function sourcesOf(
  participants: readonly Participant[],
  { hangs }: Inputs,
): readonly ReturnType<typeof progressSource>[] {
  return participants.map(({ template, workers }) => {
    const names = new Set(workers);
    const containers = template.containers.filter(({ name }) => typeof name === "string" && names.has(name));
    return progressSource(containers, hangs);
  });
}

/** The number of Pods. Agents of a large group spread their requests. */
function groupSizeOf(replicatedJobs: readonly Json[], participants: readonly Participant[]): number {
  const pods = participants.map(({ index, template: { job } }) => {
    const { replicas } = asMap(replicatedJobs[index]);
    return (asCount(replicas) ?? 1) * (asCount(job["parallelism"]) ?? 1);
  });
  const sum = pods.reduce((all, some) => all + some, 0);
  return Math.min(Math.max(1, sum), MAX_INT32);
}

/** An agent of reprise in a Pod that is left out would wait for a group that does not include it. */
function hasAgent({ participant }: Outsider): boolean {
  return participant !== undefined && findAgent(participant.template.podSpec) !== undefined;
}

function withTemplates(
  spec: JsonObject,
  additions: ReadonlyMap<number, Additions>,
  overwrites: Overwrites,
): JsonObject {
  return withList(spec, "replicatedJobs", (jobs) =>
    mapShared(jobs, (job, index) => {
      const own = additions.get(index);
      return own === undefined || !isObject(job) ? job : withAdditions(job, own, index, overwrites);
    }),
  );
}

function toFindings(finding: Finding | undefined): readonly Finding[] {
  return finding === undefined ? [] : [finding];
}

function withInjectionMetadata(object: JsonObject, status: string): JsonObject {
  return withObject(object, "metadata", (metadata) => {
    const labeled = withObject(metadata, "labels", (labels) => withField(labels, LABEL.injected, "true"));
    return withObject(labeled, "annotations", (annotations) => withField(annotations, ANNOTATION.status, status));
  });
}
