// A JobSet as the rules see it: read once, shared by all of them. Pure.
import type { Finding, SkipReason } from "../api/admission.ts";
import { type Protocol, protocolOf } from "../api/protocol.ts";
import { type InjectionRequest, inject, policiesOf } from "../inject/inject.ts";
import { type Inputs, readInputs } from "../inject/inputs.ts";
import { findParticipants, type Participant } from "../inject/participation.ts";
import { findAgent } from "../inject/parts/agent.ts";
import type { InjectionSettings } from "../inject/settings.ts";
import { readRecord, recordedPolicy, storedInputs } from "../inject/stored/record.ts";
import { isInjected } from "../inject/stored/update.ts";
import { listAt, objectAt } from "../json/edit.ts";
import type { JsonObject } from "../json/types.ts";

export interface Subject {
  readonly object: JsonObject;
  readonly annotations: JsonObject;
  readonly spec: JsonObject;
  readonly settings: InjectionSettings;
  readonly protocol: Protocol;
  /** Why the JobSet is none of our business; undefined when it is. */
  readonly skipped: SkipReason | undefined;
  /** What injection would refuse if the JobSet came in new, as it is now. */
  readonly refusals: readonly Finding[];
  readonly isInjected: boolean;
  /** The inputs that its templates were made from. */
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
  // A policy counts as it was when the JobSet was injected: by now it may have changed, or be unknown to this replica.
  const find = recordedPolicy(readRecord(isUpdate ? (oldObject ?? {}) : object), policiesOf(request));
  const outcome = inject({ ...request, operation: "CREATE", policies: (_namespace, name) => find(name) });
  // A live JobSet keeps what it was created with, whatever its annotations say now. A new one must be as they say.
  const inputs = isUpdate ? storedInputs(oldObject ?? {}, find) : readInputs(object, [], find);
  return {
    object,
    annotations: objectAt(objectAt(object, "metadata"), "annotations") ?? {},
    spec,
    settings: request.config,
    protocol: protocolOf(spec),
    skipped: skipReason(request, outcome.kind === "skipped" ? outcome.reason : undefined),
    refusals: outcome.kind === "refused" ? outcome.errors : [],
    isInjected: isInjected(spec),
    inputs,
    participants: findParticipants(listAt(spec, "replicatedJobs"), inputs, []).map((each) => ({
      ...each,
      agent: findAgent(each.template.podSpec),
    })),
  };
}

/** On UPDATE what counts is whether it was injected: a toggle that was turned later does not undo that. */
function skipReason({ operation, oldObject }: InjectionRequest, asNew: SkipReason | undefined): SkipReason | undefined {
  if (operation === "CREATE" || asNew === "not-a-jobset" || asNew === "being-deleted") return asNew;
  return isInjected(objectAt(oldObject, "spec") ?? {}) ? undefined : "created-without-injection";
}
