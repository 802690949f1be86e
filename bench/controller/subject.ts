// The controller under measurement: the real groups, queue, reconciler and decisions, without a cluster. Watch events
// come from the benchmark, and an API server in memory takes the writes and shows them to the watches.
import { setTimeout as sleep } from "node:timers/promises";
import { Registry } from "prom-client";
import { Groups } from "../../controller/group/groups.ts";
import { AgentAccess } from "../../controller/shell/agent-access.ts";
import { AgentEpochs } from "../../controller/shell/agent-epochs.ts";
import { FencedWrites, type WritingClient } from "../../controller/shell/fenced-writes.ts";
import { createControllerMetrics } from "../../controller/shell/metrics.ts";
import { RECONCILE_REST_MS, Reconciler } from "../../controller/shell/reconcile.ts";
import { GROUP_EPOCH } from "../../src/api/group-epoch.ts";
import { type InPlaceRestart, type InPlaceRestartStatus, readInPlaceRestart } from "../../src/api/in-place-restart.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import type { JsonObject } from "../../src/json/types.ts";
import { ApiError, isJsonObject } from "../../src/kube/api-error.ts";
import { WorkQueue } from "../../src/kube/queue.ts";
import { createLogger } from "../../src/telemetry/log.ts";

/** A healthy API server answers a small write within this, and its watch shows the write a little later. */
const LATENCY_MS = { write: 5, watch: 1 };

/** No run counts as a crash loop, so that nothing is delayed or escalated between two storms. */
const POLICY: RestartPolicy = { escalateAfter: 0, progressAfter: 0, backoff: { after: 1_000, first: 0, max: 0 } };

class CountedAccess extends AgentAccess {
  /** The reconciler asks for access once with each decision. */
  readonly asked = new Map<string, number>();

  override ensure(...parameters: Parameters<AgentAccess["ensure"]>): ReturnType<AgentAccess["ensure"]> {
    const [key] = parameters;
    this.asked.set(key, (this.asked.get(key) ?? 0) + 1);
    return super.ensure(...parameters);
  }
}

export class Subject {
  readonly groups = new Groups({ onChange: (key) => this.#changed(key), now: Date.now });
  /** When the last write of each group was sent, on the clock of `performance`. */
  readonly writtenAt = new Map<string, number>();
  readonly #objects: Map<string, JsonObject> = new Map();
  readonly #access: CountedAccess;
  readonly #queue: WorkQueue;
  #version = 0;
  #leads = true;

  /** With a predecessor it finds the objects that this one wrote, and decides nothing before it leads. */
  constructor(predecessor?: Subject) {
    if (predecessor !== undefined) {
      this.#objects = new Map(predecessor.#objects);
      this.#version = predecessor.#version;
      this.#leads = false;
    }
    const client: WritingClient = { request: (method, path, { body }) => this.#answer(method, path, body) };
    this.#access = new CountedAccess(client, Date.now);
    const reconciler = new Reconciler({
      groups: this.groups,
      fencedWrites: new FencedWrites(client),
      access: this.#access,
      epochs: new AgentEpochs(client, Date.now),
      record: () => {},
      metrics: createControllerMetrics(new Registry()),
      policy: POLICY,
      log: createLogger({ level: "error" }),
      now: Date.now,
    });
    const { signal } = new AbortController();
    this.#queue = new WorkQueue({
      restMs: RECONCILE_REST_MS,
      process: async (key) => {
        const again = await reconciler.reconcile(key, signal);
        if (again !== undefined) this.#queue.addAfter(key, again);
      },
      onError: (key, error) => {
        // A conflict is a cache that lags; anything else is a mistake of the benchmark.
        if (!(error instanceof ApiError)) throw new Error(`reconciling ${key} failed`, { cause: error });
      },
    });
  }

  /** As the controller does when it is elected: after the first lists. */
  lead(): void {
    this.#leads = true;
    for (const key of this.groups.keys()) this.#queue.add(key);
  }

  decisions(key: string): number {
    return this.#access.asked.get(key) ?? 0;
  }

  /** As the watch shows it. Agents see a change at the same time, and act later. */
  status(key: string): InPlaceRestartStatus | undefined {
    return this.groups.get(key)?.object?.status;
  }

  object(key: string): InPlaceRestart | undefined {
    return this.groups.get(key)?.object;
  }

  /** How many writes were accepted, by this one and its predecessor. */
  get writes(): number {
    return this.#version;
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  #changed(key: string): void {
    if (this.#leads) this.#queue.add(key);
  }

  async #answer(method: string, path: string, body: unknown): Promise<JsonObject> {
    if (path.endsWith("/subjectaccessreviews")) return { status: { allowed: false } };
    if (path.endsWith("/rolebindings")) return {};
    const [, namespace = "", plural = "", name = nameOf(body)] =
      /namespaces\/([^/]+)\/([^/]+)(?:\/([^/]+))?/.exec(path) ?? [];
    const key = `${namespace}/${name}`;
    // Only agents read it.
    if (plural === GROUP_EPOCH.plural) {
      await sleep(LATENCY_MS.write);
      return {};
    }
    if (plural !== "inplacerestarts" || !isJsonObject(body)) throw new Error(`unexpected write: ${method} ${path}`);
    this.writtenAt.set(key, performance.now());
    await sleep(LATENCY_MS.write);
    const stored = this.#store(key, namespace, name, method, body);
    setTimeout(() => this.#show(key, stored), LATENCY_MS.watch);
    return stored;
  }

  #store(key: string, namespace: string, name: string, method: string, body: JsonObject): JsonObject {
    const before = this.#objects.get(key);
    const version = isJsonObject(body["metadata"]) ? body["metadata"]["resourceVersion"] : undefined;
    if (method === "PATCH" && version !== before?.["version"])
      throw new ApiError({ server: "memory", method, path: key, status: 409, body: "{}" });
    this.#version += 1;
    const resourceVersion = String(this.#version);
    const metadata = { namespace, name, uid: `object-of-${key}`, resourceVersion };
    // Agents get what JSON says, and so does the controller.
    const stored: JsonObject = structuredClone({ ...before, ...body, metadata, version: resourceVersion });
    this.#objects.set(key, stored);
    return stored;
  }

  #show(key: string, stored: JsonObject): void {
    const item = readInPlaceRestart(stored);
    const { uid, resourceVersion } = item;
    const old: InPlaceRestart | undefined = this.groups.get(key)?.object;
    this.groups.objectChanged(
      old === undefined
        ? { kind: "added", key, uid, resourceVersion, item }
        : { kind: "updated", key, uid, resourceVersion, item, old },
    );
  }
}

function nameOf(body: unknown): string {
  const metadata = isJsonObject(body) ? body["metadata"] : undefined;
  const name = isJsonObject(metadata) ? metadata["name"] : undefined;
  return typeof name === "string" ? name : "";
}
