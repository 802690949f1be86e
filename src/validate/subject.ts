// A JobSet as the rules see it, read once and shared by all of them. Pure.
import type { Finding, InjectionOutcome, SkipReason } from "../api/admission.ts";
import { type Budget, budgetInForce } from "../api/budget.ts";
import { readJobSet } from "../api/jobset.ts";
import { type Protocol, protocolOf } from "../api/protocol.ts";
import { type InjectionRequest, inject, policiesOf } from "../inject/inject.ts";
import { type Inputs, readInputs } from "../inject/inputs.ts";
import { findParticipants, type Participant } from "../inject/participation.ts";
import { findAgent } from "../inject/parts/agent.ts";
import type { InjectionSettings } from "../inject/settings.ts";
import { isInjected } from "../inject/stored/is-injected.ts";
import { readRecord, recordedPolicy, storedInputs } from "../inject/stored/record.ts";
import { listAt, objectAt } from "../json/edit.ts";
import type { JsonObject } from "../json/types.ts";

export interface Subject {
  readonly object: JsonObject;
  readonly annotations: JsonObject;
  readonly spec: JsonObject;
  readonly settings: InjectionSettings;
  readonly protocol: Protocol;
  /** Why the JobSet is skipped; undefined if it opted in. */
  readonly skipped: SkipReason | undefined;
  /** The errors with which injection would reject the JobSet if it were created as it is now. */
  readonly injectionErrors: readonly Finding[];
  readonly isInjected: boolean;
  /** The restart budget of our own protocol. Undefined if only a successful injection would tell it. */
  readonly budget: Budget | undefined;
  /** The inputs that its templates were injected with. */
  readonly inputs: Inputs;
  readonly participants: readonly Member[];
}

/** A participant together with its agent, if it has one. */
export interface Member extends Participant {
  readonly agent: JsonObject | undefined;
}

export function readSubject(request: InjectionRequest): Subject {
  const { object, oldObject } = request;
  const spec = objectAt(object, "spec") ?? {};
  const isUpdate = request.operation === "UPDATE";
  // The policy as it was at injection: it may have changed since, or be unknown to this replica.
  const find = recordedPolicy(readRecord(isUpdate ? (oldObject ?? {}) : object), policiesOf(request));
  const outcome = inject({ ...request, operation: "CREATE", policies: (_namespace, name) => find(name) });
  // A live JobSet keeps the inputs that it was created with. A new one must match its annotations.
  const inputs = isUpdate ? storedInputs(oldObject ?? {}, find) : readInputs(object, [], find);
  return {
    object,
    annotations: objectAt(objectAt(object, "metadata"), "annotations") ?? {},
    spec,
    settings: request.config,
    protocol: protocolOf(spec),
    skipped: skipReason(request, outcome.kind === "skipped" ? outcome.reason : undefined),
    injectionErrors: outcome.kind === "refused" ? outcome.errors : [],
    isInjected: isInjected(spec),
    budget: budgetOf(object, outcome),
    inputs,
    participants: membersOf(spec, inputs),
  };
}

function budgetOf(object: JsonObject, outcome: InjectionOutcome): Budget | undefined {
  const written = budgetInForce(readJobSet(object));
  if (written.from === "annotation" || isInjected(objectAt(object, "spec") ?? {})) return written;
  return outcome.kind === "injected" ? budgetInForce(readJobSet(outcome.object)) : undefined;
}

/** Those that are left out have no agent. One that has an agent and cannot restart in place must not pass. */
function membersOf(spec: JsonObject, inputs: Inputs): Member[] {
  const { participants, outsiders } = findParticipants(listAt(spec, "replicatedJobs"), inputs, []);
  const unable = outsiders.flatMap(({ participant }) => participant ?? []).map(withAgent);
  return [...participants.map(withAgent), ...unable.filter(({ agent }) => agent !== undefined)];
}

function withAgent(participant: Participant): Member {
  return { ...participant, agent: findAgent(participant.template.podSpec) };
}

/** On UPDATE only the stored object counts: changing the toggle later does not undo the injection. */
function skipReason({ operation, oldObject }: InjectionRequest, asNew: SkipReason | undefined): SkipReason | undefined {
  if (operation === "CREATE" || asNew === "not-a-jobset" || asNew === "being-deleted") return asNew;
  return isInjected(objectAt(oldObject, "spec") ?? {}) ? undefined : "created-without-injection";
}
