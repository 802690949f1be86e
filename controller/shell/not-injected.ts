// Finds JobSets that are opted in but were created without injection, because the webhook was down or not yet
// installed. They run, but JobSet recreates them on failure. Without a warning, users would notice only then.

import { findingText, type SkipReason } from "../../src/api/admission.ts";
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

/** A JobSet without the injected label. */
interface PlainJobSet extends Identity {
  /** What injection would do now; `no` if the JobSet is not opted in or has finished. */
  readonly injectable: "yes" | "refused" | "left-out" | "no";
  /** Why the JobSet is left out. */
  readonly why?: string;
}

/** Skip reasons of JobSets that are opted in and stay plain for good. */
const LEFT_OUT: ReadonlySet<SkipReason> = new Set(["all-left-out", "has-its-own-agent", "prebuilt-workload"]);

/** The webhook checks whether a named policy exists when the JobSet is applied again. */
const anyPolicy = () => ({ kind: "found", policy: RESTART_EVERYTHING }) as const;

/** Runs the injection itself, so that the answer always agrees with the webhook. */
export function readPlainJobSet(raw: JsonObject, config: InjectionSettings): PlainJobSet {
  const identity = readIdentity(raw);
  const outcome = inject({
    operation: "CREATE",
    namespace: identity.namespace,
    object: raw,
    config,
    policies: anyPolicy,
  });
  if (readJobSet(raw).outcome !== "none") return { ...identity, injectable: "no" };
  if (outcome.kind === "skipped") {
    if (!LEFT_OUT.has(outcome.reason)) return { ...identity, injectable: "no" };
    return { ...identity, injectable: "left-out", why: outcome.warnings.map(findingText).join("; ") };
  }
  return { ...identity, injectable: outcome.kind === "refused" ? "refused" : "yes" };
}

export class NotInjected {
  readonly #record: (occurrence: Occurrence) => void;
  readonly #optedIn = new Set<string>();
  /** JobSets that injection would accept, refuse or leave out, by UID. */
  readonly #candidates = new Map<string, PlainJobSet>();
  readonly #warned = new Set<string>();
  #isLeading = false;

  constructor(record: (occurrence: Occurrence) => void) {
    this.#record = record;
  }

  get count(): number {
    let count = 0;
    for (const { namespace, injectable } of this.#candidates.values()) {
      if (injectable !== "left-out" && this.#optedIn.has(namespace)) count += 1;
    }
    return count;
  }

  /** For namespaces with the opt-in label only. */
  namespaceChanged({ kind, key }: Change<unknown>): void {
    if (kind === "deleted") this.#optedIn.delete(key);
    else this.#optedIn.add(key);
    if (kind === "added") this.#warnAll();
  }

  jobSetChanged({ kind, uid, item }: Change<PlainJobSet>): void {
    if (kind === "deleted" || item.injectable === "no") {
      this.#candidates.delete(uid);
      if (kind === "deleted") this.#warned.delete(uid);
      return;
    }
    this.#candidates.set(uid, item);
    this.#warn(item);
  }

  /** Every replica counts, but only the leader records Events. */
  setLeading(isLeading: boolean): void {
    this.#isLeading = isLeading;
    this.#warnAll();
  }

  #warnAll(): void {
    for (const jobSet of this.#candidates.values()) this.#warn(jobSet);
  }

  #warn(jobSet: PlainJobSet): void {
    if (!this.#isLeading || !this.#optedIn.has(jobSet.namespace) || this.#warned.has(jobSet.uid)) return;
    this.#warned.add(jobSet.uid);
    if (jobSet.injectable === "left-out") {
      this.#event(jobSet, "LeftOut", jobSet.why ?? "");
      return;
    }
    const remedy =
      jobSet.injectable === "yes"
        ? "delete the JobSet and apply it again"
        : "`reprise validate` explains why injection would refuse it now";
    const note = `created without injection although opted in, so it cannot restart in place: ${remedy}`;
    this.#event(jobSet, "NotInjected", note);
  }

  #event(jobSet: PlainJobSet, reason: EventReason, note: string): void {
    this.#record({ regarding: jobSetReference(jobSet), type: "Warning", reason, action: "Inject", note });
  }
}
