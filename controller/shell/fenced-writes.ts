// The six writes that decisions are made of. Each names the very object, and where it builds on a version, that version:
// whoever decided on an old view, or leads no more, is refused by the API server.

import { IN_PLACE_RESTART, type InPlaceRestart, type InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { type Identity, readIdentity } from "../../src/api/metadata.ts";
import { JOBSET } from "../../src/api/names.ts";
import type { JsonObject } from "../../src/json/types.ts";
import { JSON_PATCH, MERGE_PATCH } from "../../src/kube/client.ts";
import { PAST_DEADLINE_SECONDS } from "../rules/recreate-jobset.ts";

/** What writing needs of a client. */
export interface WritingClient {
  request(
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    options: { readonly body: unknown; readonly contentType?: string; readonly signal: AbortSignal },
  ): Promise<JsonObject>;
}

export const JOBSET_API = `${JOBSET.group}/${JOBSET.version}`;
const OBJECT_API = `${IN_PLACE_RESTART.group}/${IN_PLACE_RESTART.version}`;

export class Requests {
  readonly #client: WritingClient;

  constructor(client: WritingClient) {
    this.#client = client;
  }

  /** Without a status: until the next decision has written one, no agent takes an epoch. */
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

  async deleteObject({ namespace, name, uid }: InPlaceRestart, signal: AbortSignal): Promise<void> {
    const body = { preconditions: { uid } };
    await this.#client.request("DELETE", `${objectsIn(namespace)}/${name}`, { body, signal });
  }

  async writeStatus(
    { namespace, name, uid, resourceVersion }: InPlaceRestart,
    status: InPlaceRestartStatus,
    signal: AbortSignal,
  ): Promise<Identity> {
    // Every field of a status is always there, and lists are replaced as a whole: merging it is replacing it.
    const body = { metadata: { uid, resourceVersion }, status };
    const path = `${objectsIn(namespace)}/${name}/status`;
    return readIdentity(await this.#client.request("PATCH", path, { body, contentType: MERGE_PATCH, signal }));
  }

  /** Puts a JobSet into its final state, as its own controller would; that one then deletes the Jobs. */
  async failJobSet(jobSet: JobSet, reason: string, message: string, at: Date, signal: AbortSignal): Promise<void> {
    const { namespace, name, resourceVersion, conditions } = jobSet;
    // Conditions are timed in whole seconds.
    const lastTransitionTime = at.toISOString().replace(/\.\d+Z$/, "Z");
    const failed = { type: "Failed", status: "True", reason, message, lastTransitionTime };
    // One by one instead of a list made here, so that fields of the others that are unknown to us survive.
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

  /** As a user would, with the Pod's own grace period; its Job makes another. */
  async deletePod({ namespace }: JobSet, { name, uid }: Named, signal: AbortSignal): Promise<void> {
    const body = { preconditions: { uid } };
    await this.#client.request("DELETE", `/api/v1/namespaces/${namespace}/pods/${name}`, { body, signal });
  }

  /** Its controller then ends its Pods and marks it as failed, and JobSet does what its failure policy says. */
  async failJob({ namespace }: JobSet, { name, uid }: Named, signal: AbortSignal): Promise<void> {
    // A UID that differs from the stored one is refused.
    const body = { metadata: { uid }, spec: { activeDeadlineSeconds: PAST_DEADLINE_SECONDS } };
    const path = `/apis/batch/v1/namespaces/${namespace}/jobs/${name}`;
    await this.#client.request("PATCH", path, { body, contentType: MERGE_PATCH, signal });
  }
}

type Named = Pick<Identity, "name" | "uid">;

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller: true;
}

/** Whatever belongs to a JobSet is collected with it, and never holds up its deletion. */
export function ownedBy({ name, uid }: JobSet): OwnerReference {
  return { apiVersion: JOBSET_API, kind: JOBSET.kind, name, uid, controller: true };
}

export function ownedByObject({ name, uid }: InPlaceRestart): OwnerReference {
  return { apiVersion: OBJECT_API, kind: IN_PLACE_RESTART.kind, name, uid, controller: true };
}

function objectsIn(namespace: string): string {
  return `/apis/${OBJECT_API}/namespaces/${namespace}/${IN_PLACE_RESTART.plural}`;
}
