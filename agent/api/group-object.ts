// The group's object (a GroupEpoch or, in upstream's protocol, the JobSet) and the epoch annotation on the agent's own
// Pod: all the requests that an agent sends.

import { GROUP_EPOCH } from "../../src/api/group-epoch.ts";
import { formatHangReport, type HangReport } from "../../src/api/hang-report.ts";
import { HANG_ANNOTATION, JOBSET, LAST_STEP_ANNOTATION, SHM_LEFTOVER_ANNOTATION } from "../../src/api/names.ts";
import { epochAnnotation, type Protocol } from "../../src/api/protocol.ts";
import { asMap, asText } from "../../src/json/fields.ts";
import { lines } from "../../src/kube/lines.ts";
import type { AgentConfig } from "../config.ts";
import { type GroupView, type Identity, viewGroupEpoch } from "../decide.ts";
import { viewJobSet } from "../decide-jobset.ts";
import { type TypeState, typeStateIn } from "../decide-removed.ts";
import type { ApiClient, ApiRequest } from "./http-client.ts";
import { RequestError } from "./request-error.ts";

interface ProtocolBinding {
  readonly resource: { readonly group: string; readonly version: string; readonly plural: string };
  readonly name: (config: AgentConfig) => string;
  readonly view: (raw: unknown, identity: Identity) => GroupView;
}

const BINDINGS: Readonly<Record<Protocol, ProtocolBinding>> = {
  epoch: { resource: GROUP_EPOCH, name: ({ jobSetUid }) => jobSetUid, view: viewGroupEpoch },
  jobset: { resource: JOBSET, name: ({ jobSetName }) => jobSetName, view: viewJobSet },
};

/**
 * The server ends each watch after a random time in this range, so that agents do not reconnect in step. Rarely enough
 * that thousands of agents cost nothing, often enough to replace a watch that died silently. Bookmarks cannot detect
 * that: the API server sends none while no object of the kind changes. TCP notices a lost machine much earlier.
 */
const WATCH_SECONDS = { min: 240, max: 300 };

/** On the bookmark that ends the list at the beginning of a watch. */
const END_OF_LIST_ANNOTATION = "k8s.io/initial-events-end";

/** Less left in shared memory matters to no worker. */
const LEAST_LEFTOVER_BYTES = 1024 * 1024;

/** A watch that the server has not ended this long after its timeout is dead. */
const OVERDUE_SECONDS = 15;

/** An event of a watch: it opened, the list at its beginning is complete, a bookmark arrived, or the object changed. */
export interface WatchUpdate {
  readonly view?: GroupView;
  readonly resourceVersion?: string;
}

export class GroupObject {
  readonly #server: ApiClient;
  readonly #config: AgentConfig;
  readonly #binding: ProtocolBinding;
  readonly #collection: string;

  constructor(server: ApiClient, config: AgentConfig) {
    this.#server = server;
    this.#config = config;
    this.#binding = BINDINGS[config.protocol];
    const { group, version, plural } = this.#binding.resource;
    this.#collection = `/apis/${group}/${version}/namespaces/${config.namespace}/${plural}`;
  }

  /**
   * Whether the API server serves the type of the group's object. Every authenticated client may ask, also one whose
   * rights are gone.
   */
  async typeState(): Promise<TypeState> {
    const { group, version, plural } = this.#binding.resource;
    try {
      return typeStateIn(JSON.parse(await this.#text({ method: "GET", path: `/apis/${group}/${version}` })), plural);
    } catch (error) {
      return error instanceof RequestError && error.status === 404 ? "gone" : "unknown";
    }
  }

  /**
   * Every change after `resourceVersion`. Without one, first the current state: the API server lists the object from a
   * cache that has caught up with etcd, and marks the end of the list with a bookmark. Returns when the server ends the
   * watch.
   */
  async *watch(resourceVersion: string | undefined, random: number): AsyncGenerator<WatchUpdate, void, undefined> {
    const { min, max } = WATCH_SECONDS;
    const seconds = Math.round(min + (max - min) * random);
    const query = [
      "watch=true",
      "allowWatchBookmarks=true",
      // By name, so that RBAC can be limited to this one object.
      `fieldSelector=${encodeURIComponent(`metadata.name=${this.#binding.name(this.#config)}`)}`,
      `timeoutSeconds=${seconds}`,
      ...(resourceVersion === undefined
        ? ["sendInitialEvents=true", "resourceVersionMatch=NotOlderThan"]
        : [`resourceVersion=${encodeURIComponent(resourceVersion)}`]),
    ];
    const path = `${this.#collection}?${query.join("&")}`;
    const body = await this.#server.open({ method: "GET", path, idleTimeoutMs: (seconds + OVERDUE_SECONDS) * 1000 });
    yield {};
    let listed = resourceVersion === undefined ? this.#binding.view(undefined, this.#config) : undefined;
    for await (const line of lines(body)) {
      const event = asMap(JSON.parse(line));
      const update = this.#update(event);
      if (listed === undefined) yield update;
      else if (!isEndOfList(event)) listed = update.view ?? listed;
      else {
        yield { ...update, view: listed };
        listed = undefined;
      }
    }
  }

  #update({ type, object }: Readonly<Record<string, unknown>>): WatchUpdate {
    if (type === "ERROR") throw watchError(object);
    const resourceVersion = asText(asMap(asMap(object)["metadata"])["resourceVersion"]);
    const version = resourceVersion === undefined ? {} : { resourceVersion };
    if (type === "BOOKMARK") return version;
    return { ...version, view: this.#binding.view(type === "DELETED" ? undefined : object, this.#config) };
  }

  /**
   * `shmLeftoverBytes` is undefined before the first start; `lastStep` is that of the epoch before, if it is known.
   * Resolves when the API server has confirmed the annotations.
   * The UID makes the patch fail on another Pod of the same name.
   */
  async publish(epoch: number, shmLeftoverBytes?: number, lastStep?: number): Promise<void> {
    await this.#annotate({
      [epochAnnotation(this.#config.protocol)]: String(epoch),
      ...(shmLeftoverBytes === undefined ? {} : { [SHM_LEFTOVER_ANNOTATION]: leftoverText(shmLeftoverBytes) }),
      // Also the report of the epoch before goes.
      ...(this.#config.hangs === undefined
        ? {}
        : { [HANG_ANNOTATION]: null, [LAST_STEP_ANNOTATION]: lastStep === undefined ? null : String(lastStep) }),
    });
  }

  /** Without a report, the one that is there goes. Resolves when the API server has confirmed it. */
  async report(report: HangReport | undefined): Promise<void> {
    await this.#annotate({ [HANG_ANNOTATION]: report === undefined ? null : formatHangReport(report) });
  }

  async #annotate(annotations: Readonly<Record<string, string | null>>): Promise<void> {
    const { namespace, podName, podUid } = this.#config;
    await this.#text({
      method: "PATCH",
      path: `/api/v1/namespaces/${namespace}/pods/${podName}`,
      body: {
        contentType: "application/merge-patch+json",
        text: JSON.stringify({ metadata: { annotations, uid: podUid } }),
      },
    });
  }

  async #text(request: ApiRequest): Promise<string> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await this.#server.open(request)) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }
}

/** `null` removes the annotation of an earlier start. */
function leftoverText(bytes: number): string | null {
  return bytes < LEAST_LEFTOVER_BYTES ? null : String(bytes);
}

function isEndOfList({ type, object }: Readonly<Record<string, unknown>>): boolean {
  const annotations = asMap(asMap(asMap(object)["metadata"])["annotations"]);
  return type === "BOOKMARK" && annotations[END_OF_LIST_ANNOTATION] === "true";
}

function watchError(object: unknown): RequestError {
  const { code, message } = asMap(object);
  const status = typeof code === "number" ? code : 0;
  return new RequestError(`${status} ${asText(message) ?? "watch failed"}`, { status });
}
