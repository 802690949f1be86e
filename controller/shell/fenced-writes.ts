// Fences stale leaders and stale caches: the API server refuses their writes. Every write of the controller names the
// object's UID, and one that builds on a version names that version too. A replica that lost its lease without
// noticing, or that decided on an old view, gets a conflict and changes nothing.

import { IN_PLACE_RESTART, type InPlaceRestart, type InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { type Identity, readIdentity, wholeSeconds } from "../../src/api/metadata.ts";
import { JOBSET } from "../../src/api/names.ts";
import type { JsonObject } from "../../src/json/types.ts";
import { ApiError } from "../../src/kube/api-error.ts";
import { JSON_PATCH, MERGE_PATCH } from "../../src/kube/client.ts";
import { PAST_DEADLINE_SECONDS } from "../rules/recreate-jobset.ts";

/** The part of a client that writing needs. */
export interface WritingClient {
  request(
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    options: { readonly body: unknown; readonly contentType?: string; readonly signal: AbortSignal },
  ): Promise<JsonObject>;
}

/** The Failed condition to set on a JobSet. */
interface JobSetFailure {
  readonly reason: string;
  readonly message: string;
  readonly at: Date;
}

export const JOBSET_API = `${JOBSET.group}/${JOBSET.version}`;
const OBJECT_API = `${IN_PLACE_RESTART.group}/${IN_PLACE_RESTART.version}`;

/** Resolves when the API server accepted the write, and rejects with a conflict when it was fenced. */
export class FencedWrites {
  readonly #client: WritingClient;

  constructor(client: WritingClient) {
    this.#client = client;
  }

  /** Fenced by the name: creating an object that exists is a conflict. */
  async createObject(jobSet: JobSet, signal: AbortSignal): Promise<Identity> {
    const { namespace, name, uid } = jobSet;
    const body = {
      apiVersion: OBJECT_API,
      kind: IN_PLACE_RESTART.kind,
      metadata: { name, ownerReferences: [ownedBy(jobSet)] },
      spec: { jobSetUID: uid },
    };
    return readIdentity(await this.#client.request("POST", objectsIn(namespace), { body, signal }));
  }

  /** Fenced by a UID precondition. */
  async deleteObject({ namespace, name, uid }: InPlaceRestart, signal: AbortSignal): Promise<void> {
    const body = { preconditions: { uid } };
    await this.#client.request("DELETE", `${objectsIn(namespace)}/${name}`, { body, signal });
  }

  /** Fenced by UID and version: no two leaders can both advance the same status. */
  async writeStatus(
    { namespace, name, uid, resourceVersion }: InPlaceRestart,
    status: InPlaceRestartStatus,
    signal: AbortSignal,
  ): Promise<Identity> {
    // A status always has every field, and a merge patch replaces lists, so this replaces the whole status.
    const body = { metadata: { uid, resourceVersion }, status };
    const path = `${objectsIn(namespace)}/${name}/status`;
    return readIdentity(await this.#client.request("PATCH", path, { body, contentType: MERGE_PATCH, signal }));
  }

  /**
   * Fenced by the version. Sets the final state as JobSet's controller would; that controller then deletes the Jobs.
   */
  async failJobSet(jobSet: JobSet, { reason, message, at }: JobSetFailure, signal: AbortSignal): Promise<void> {
    const { namespace, name, resourceVersion, conditions } = jobSet;
    // Kubernetes stores condition times in whole seconds.
    const lastTransitionTime = wholeSeconds(at.getTime());
    const failed = { type: "Failed", status: "True", reason, message, lastTransitionTime };
    // Append instead of replacing the list: other conditions may have fields that are unknown here.
    const body = [
      { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion },
      conditions.length === 0
        ? { op: "add", path: "/status/conditions", value: [failed] }
        : { op: "add", path: "/status/conditions/-", value: failed },
      { op: "add", path: "/status/terminalState", value: "Failed" },
    ];
    const path = `/apis/${JOBSET_API}/namespaces/${namespace}/${JOBSET.plural}/${name}/status`;
    await this.#client.request("PATCH", path, { body, contentType: JSON_PATCH, signal });
  }

  /** Fenced by a UID precondition. Keeps the Pod's grace period; the Job then creates a replacement. */
  async deletePod({ namespace }: JobSet, { name, uid }: Named, signal: AbortSignal): Promise<void> {
    const body = { preconditions: { uid } };
    await this.#client.request("DELETE", `/api/v1/namespaces/${namespace}/pods/${name}`, { body, signal });
  }

  /** Fenced by the UID. The Job controller ends the Pods and fails the Job; JobSet then applies its failure policy. */
  async failJob({ namespace }: JobSet, { name, uid }: Named, signal: AbortSignal): Promise<void> {
    // The API server refuses a patch with a UID that differs from the stored one.
    const body = { metadata: { uid }, spec: { activeDeadlineSeconds: PAST_DEADLINE_SECONDS } };
    const path = `/apis/batch/v1/namespaces/${namespace}/jobs/${name}`;
    await this.#client.request("PATCH", path, { body, contentType: MERGE_PATCH, signal });
  }
}

/**
 * Whether the API server refused a write because the object is gone or has changed. Where it does not serve the type at
 * all, it answers 404 without a reason, and only an operator can change that.
 */
export function isFenced(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 409 || (error.status === 404 && error.reason === "NotFound"));
}

type Named = Pick<Identity, "name" | "uid">;

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller: true;
}

/** Garbage-collected with the JobSet. Without blockOwnerDeletion, so it never delays a foreground deletion. */
export function ownedBy({ name, uid }: JobSet): OwnerReference {
  return { apiVersion: JOBSET_API, kind: JOBSET.kind, name, uid, controller: true };
}

export function ownedByObject({ name, uid }: InPlaceRestart): OwnerReference {
  return { apiVersion: OBJECT_API, kind: IN_PLACE_RESTART.kind, name, uid, controller: true };
}

function objectsIn(namespace: string): string {
  return `/apis/${OBJECT_API}/namespaces/${namespace}/${IN_PLACE_RESTART.plural}`;
}
