// The requests that free a stuck Pod. Both writes name the UID of the Pod, and the first one also the version that was
// judged, so the API server refuses a stale leader or a stale view.

import { wholeSeconds } from "../../../src/api/metadata.ts";
import { FAILURE_RECOVERY } from "../../../src/api/names.ts";
import { type Node, readNode } from "../../../src/api/node.ts";
import { type Pod, readForceDeleteConsent, readPod } from "../../../src/api/pod.ts";
import { asList } from "../../../src/json/fields.ts";
import type { JsonObject } from "../../../src/json/types.ts";
import { hasStatus } from "../../../src/kube/api-error.ts";
import { STRATEGIC_MERGE_PATCH } from "../../../src/kube/client.ts";

/** The part of a client that freeing needs. */
export interface FreeingClient {
  request(
    method: "GET" | "PATCH" | "DELETE",
    path: string,
    options: {
      readonly query?: Readonly<Record<string, string>>;
      readonly body?: unknown;
      readonly contentType?: string;
      readonly signal: AbortSignal;
    },
  ): Promise<JsonObject>;
}

export interface ConsentingPod extends Pod {
  /** The annotation that allows forceful deletion. */
  readonly consent: string | undefined;
}

export class FreeingRequests {
  readonly #client: FreeingClient;

  constructor(client: FreeingClient) {
    this.#client = client;
  }

  /** The API server indexes Pods by node, so this costs as much as one node has Pods. */
  async podsOn(node: string, signal: AbortSignal): Promise<readonly ConsentingPod[]> {
    const query = { fieldSelector: `spec.nodeName=${node}` };
    const list = await this.#client.request("GET", "/api/v1/pods", { query, signal });
    return asList(list["items"]).map((raw) => ({ ...readPod(raw), consent: readForceDeleteConsent(raw) }));
  }

  /** The current state, which the watch may not show yet. */
  async node(name: string, signal: AbortSignal): Promise<Node | undefined> {
    try {
      return readNode(await this.#client.request("GET", `/api/v1/nodes/${name}`, { signal }));
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  }

  /** Sets phase and condition. The Job controller may then replace the Pod; Kubernetes never reverts a Failed phase. */
  async mark(pod: Pod, message: string, at: number, signal: AbortSignal): Promise<void> {
    const { uid, resourceVersion } = pod;
    const condition = {
      type: FAILURE_RECOVERY.condition,
      status: "True",
      reason: FAILURE_RECOVERY.reason,
      message,
      lastTransitionTime: wholeSeconds(at),
    };
    const body = { metadata: { uid, resourceVersion }, status: { phase: "Failed", conditions: [condition] } };
    await this.#client.request("PATCH", `${pathOf(pod)}/status`, { body, contentType: STRATEGIC_MERGE_PATCH, signal });
  }

  async delete(pod: Pod, signal: AbortSignal): Promise<void> {
    const body = { gracePeriodSeconds: 0, preconditions: { uid: pod.uid } };
    try {
      await this.#client.request("DELETE", pathOf(pod), { body, signal });
    } catch (error) {
      // Already gone, or replaced under the same name.
      if (!hasStatus(error, 404) && !hasStatus(error, 409)) throw error;
    }
  }
}

function pathOf({ namespace, name }: Pod): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}
