// Finds JobSets that are opted in and were created without injection: the webhook was down, or came later. They run, but
// restart by being recreated, and nobody would notice before the first failure.

import type { Change } from "../../src/api/change.ts";
import { readJobSet } from "../../src/api/jobset.ts";
import { type Identity, readIdentity } from "../../src/api/metadata.ts";
import { inject } from "../../src/inject/inject.ts";
import type { InjectionSettings } from "../../src/inject/settings.ts";
import type { JsonObject } from "../../src/json/types.ts";
import type { Occurrence } from "../../src/kube/events.ts";
import { RESTART_EVERYTHING } from "../../src/policy/exit-codes.ts";
import type { EventReason } from "../status/event-reasons.ts";
import { jobSetReference } from "./reconcile.ts";

/** A JobSet without the label of injected ones. */
export interface PlainJobSet extends Identity {
  /** What injection would make of it now; `no` when it is not meant for it, or is over. */
  readonly injectable: "yes" | "refused" | "no";
}

/** Whether a policy of that name exists is the webhook's to say, when the JobSet is applied again. */
const anyPolicy = () => ({ kind: "found", policy: RESTART_EVERYTHING }) as const;

/** Answers by injecting it, so that this and the webhook cannot disagree. */
export function readPlainJobSet(raw: JsonObject, config: InjectionSettings): PlainJobSet {
  const identity = readIdentity(raw);
  const outcome = inject({
    operation: "CREATE",
    namespace: identity.namespace,
    object: raw,
    config,
    policies: anyPolicy,
  });
  const over = readJobSet(raw).outcome !== "none";
  const injectable = over || outcome.kind === "skipped" ? "no" : outcome.kind === "refused" ? "refused" : "yes";
  return { ...identity, injectable };
}

export class NotInjected {
  readonly #record: (occurrence: Occurrence) => void;
  readonly #optedIn = new Set<string>();
  /** Those that injection would take, by UID. */
  readonly #candidates = new Map<string, PlainJobSet>();
  readonly #told = new Set<string>();
  #isTelling = false;

  constructor(record: (occurrence: Occurrence) => void) {
    this.#record = record;
  }

  get count(): number {
    let count = 0;
    for (const { namespace } of this.#candidates.values()) if (this.#optedIn.has(namespace)) count += 1;
    return count;
  }

  /** Of namespaces with the opt-in label. */
  namespaceChanged({ kind, key }: Change<unknown>): void {
    if (kind === "deleted") this.#optedIn.delete(key);
    else this.#optedIn.add(key);
    if (kind === "added") this.#tellAll();
  }

  jobSetChanged({ kind, uid, item }: Change<PlainJobSet>): void {
    if (kind === "deleted" || item.injectable === "no") {
      this.#candidates.delete(uid);
      if (kind === "deleted") this.#told.delete(uid);
      return;
    }
    this.#candidates.set(uid, item);
    this.#tell(item);
  }

  /** Only the leader tells; every replica counts. */
  tell(isTelling: boolean): void {
    this.#isTelling = isTelling;
    this.#tellAll();
  }

  #tellAll(): void {
    for (const jobSet of this.#candidates.values()) this.#tell(jobSet);
  }

  #tell(jobSet: PlainJobSet): void {
    if (!this.#isTelling || !this.#optedIn.has(jobSet.namespace) || this.#told.has(jobSet.uid)) return;
    this.#told.add(jobSet.uid);
    const remedy =
      jobSet.injectable === "yes"
        ? "delete it and apply it again"
        : "`reprise validate` says why injection would refuse it now";
    this.#record({
      regarding: jobSetReference(jobSet),
      type: "Warning",
      reason: "NotInjected" satisfies EventReason,
      action: "Inject",
      note: `opted in, but created without injection: it does not restart in place; ${remedy}`,
    });
  }
}
