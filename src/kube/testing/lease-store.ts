// An in-memory Lease with optimistic concurrency whose responses can be lost or delayed at chosen moments: faults that
// a real API server cannot be made to show on time.

import type { JsonObject } from "../../json/types.ts";
import { ApiError, isJsonObject } from "../api-error.ts";
import type { Clock } from "../clock.ts";
import type { LeaseClient } from "../leader.ts";

/** What happens to one request: it takes some time, or is lost before or after it took effect. */
export type Fate = { readonly delayMs: number } | "lost-before" | "lost-after";

export class LeaseStore {
  readonly #clock: Clock;
  readonly #fate: (candidate: string) => Fate;
  #lease: JsonObject | undefined;
  #revision = 0;

  constructor(clock: Clock, fate: (candidate: string) => Fate) {
    this.#clock = clock;
    this.#fate = fate;
  }

  get spec(): JsonObject {
    const spec = this.#lease?.["spec"];
    return isJsonObject(spec) ? spec : {};
  }

  delete(): void {
    this.#lease = undefined;
  }

  client(candidate: string): LeaseClient {
    return {
      request: async (method, path, { body, signal }) => {
        const fate = this.#fate(candidate);
        if (fate === "lost-before") return aborted(signal);
        if (fate === "lost-after") {
          this.#apply(method, path, body);
          return aborted(signal);
        }
        await new Promise<void>((resolve) => this.#clock.after(fate.delayMs / 2, resolve));
        const answer = this.#apply(method, path, body);
        await new Promise<void>((resolve) => this.#clock.after(fate.delayMs / 2, resolve));
        if (signal.aborted) throw signal.reason;
        return answer;
      },
    };
  }

  #apply(method: string, path: string, body: unknown): JsonObject {
    const refuse = (status: number) => new ApiError({ server: "store", method, path, status, body: "" });
    if (method === "GET") {
      if (this.#lease === undefined) throw refuse(404);
      return structuredClone(this.#lease);
    }
    if (!isJsonObject(body) || !isJsonObject(body["metadata"])) throw refuse(400);
    if (method === "POST" && this.#lease !== undefined) throw refuse(409);
    if (method === "PUT") {
      if (this.#lease === undefined) throw refuse(404);
      if (versionOf(this.#lease) !== body["metadata"]["resourceVersion"]) throw refuse(409);
    }
    const metadata = { ...body["metadata"], resourceVersion: String(++this.#revision) };
    this.#lease = structuredClone({ ...body, metadata });
    return structuredClone(this.#lease);
  }
}

function versionOf(lease: JsonObject): unknown {
  return isJsonObject(lease["metadata"]) ? lease["metadata"]["resourceVersion"] : undefined;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
