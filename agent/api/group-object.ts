// The group's object at the API server, and the epoch on the agent's own Pod: four requests, in either protocol.

import { IN_PLACE_RESTART } from "../../src/api/in-place-restart.ts";
import { JOBSET } from "../../src/api/names.ts";
import { epochAnnotation, type Protocol } from "../../src/api/protocol.ts";
import { asMap, asText } from "../../src/json/fields.ts";
import { lines } from "../../src/kube/lines.ts";
import type { AgentConfig } from "../config.ts";
import { type Identity, type Sighting, seeInPlaceRestart } from "../decide.ts";
import { seeJobSet } from "../decide-jobset.ts";
import { ApiTrouble } from "./api-trouble.ts";
import type { ApiRequest, ApiServer } from "./connection.ts";

interface ProtocolBinding {
  readonly resource: { readonly group: string; readonly version: string; readonly plural: string };
  readonly see: (raw: unknown, identity: Identity, consistent: boolean) => Sighting;
}

const BINDINGS: Readonly<Record<Protocol, ProtocolBinding>> = {
  epoch: { resource: IN_PLACE_RESTART, see: seeInPlaceRestart },
  jobset: { resource: JOBSET, see: seeJobSet },
};

/**
 * The server ends every watch in this time, some earlier, so that agents do not come back in step. Seldom enough for
 * thousands of agents to cost nothing, often enough to end a watch that is dead without knowing it. Bookmarks cannot
 * tell that: the API server sends none where nothing of the kind changed. A peer whose machine is lost is noticed far
 * sooner, by TCP.
 */
const WATCH_SECONDS = { least: 240, most: 300 };

/** A watch that the server has not ended this long after the time is dead. */
const OVERDUE_SECONDS = 15;

/** A sign of life of a watch: it opened, time passed (a bookmark), or something was seen. */
export interface WatchNews {
  readonly seen?: Sighting;
  readonly resourceVersion?: string;
}

export class GroupObject {
  readonly #server: ApiServer;
  readonly #config: AgentConfig;
  readonly #binding: ProtocolBinding;
  readonly #collection: string;

  constructor(server: ApiServer, config: AgentConfig) {
    this.#server = server;
    this.#config = config;
    this.#binding = BINDINGS[config.protocol];
    const { group, version, plural } = this.#binding.resource;
    this.#collection = `/apis/${group}/${version}/namespaces/${config.namespace}/${plural}`;
  }

  /** With quorum: without a resourceVersion the API server answers with what is true now, not with what it remembers. */
  async read(): Promise<Sighting> {
    const path = `${this.#collection}/${this.#config.jobSetName}`;
    try {
      const object: unknown = JSON.parse(await this.#text({ method: "GET", path }));
      return this.#binding.see(object, this.#config, true);
    } catch (error) {
      if (error instanceof ApiTrouble && error.status === 404) return { kind: "absent" };
      throw error;
    }
  }

  /**
   * Every change after the version; without one, first what is there now, as far as the API server's cache knows: an
   * older state, perhaps, but then everything after it. The version of the object itself is no place to start from: of
   * an object that did not change for long, a restarted API server has no history back to it. Ends when the server
   * ends the watch.
   */
  async *watch(resourceVersion: string | undefined, random: number): AsyncGenerator<WatchNews, void, undefined> {
    const { least, most } = WATCH_SECONDS;
    const seconds = Math.round(least + (most - least) * random);
    const query = [
      "watch=true",
      "allowWatchBookmarks=true",
      // By name, so that a role may be limited to this one object.
      `fieldSelector=${encodeURIComponent(`metadata.name=${this.#config.jobSetName}`)}`,
      `timeoutSeconds=${seconds}`,
      ...(resourceVersion === undefined ? [] : [`resourceVersion=${encodeURIComponent(resourceVersion)}`]),
    ];
    const path = `${this.#collection}?${query.join("&")}`;
    const body = await this.#server.open({ method: "GET", path, quietMs: (seconds + OVERDUE_SECONDS) * 1000 });
    yield {};
    for await (const line of lines(body)) yield this.#news(asMap(JSON.parse(line)));
  }

  #news({ type, object }: Readonly<Record<string, unknown>>): WatchNews {
    if (type === "ERROR") throw endOfWatch(object);
    const resourceVersion = asText(asMap(asMap(object)["metadata"])["resourceVersion"]);
    const version = resourceVersion === undefined ? {} : { resourceVersion };
    if (type === "BOOKMARK") return version;
    const present = type === "DELETED" ? undefined : object;
    return { ...version, seen: this.#binding.see(present, this.#config, false) };
  }

  /** Confirmed when it returns. The UID makes it fail rather than write on another Pod of the same name. */
  async publish(epoch: number): Promise<void> {
    await this.#patchPod({ annotations: { [epochAnnotation(this.#config.protocol)]: String(epoch) } });
  }

  /** By a patch that changes nothing: to read Pods is a right that workers with the same service account may not have. */
  async ownPod(): Promise<unknown> {
    return JSON.parse(await this.#patchPod({}));
  }

  /** Answers with the Pod. */
  #patchPod(metadata: Readonly<Record<string, unknown>>): Promise<string> {
    const { namespace, podName, podUid } = this.#config;
    return this.#text({
      method: "PATCH",
      path: `/api/v1/namespaces/${namespace}/pods/${podName}`,
      body: {
        contentType: "application/merge-patch+json",
        text: JSON.stringify({ metadata: { ...metadata, uid: podUid } }),
      },
    });
  }

  async #text(request: ApiRequest): Promise<string> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await this.#server.open(request)) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }
}

function endOfWatch(object: unknown): ApiTrouble {
  const { code, message } = asMap(object);
  const status = typeof code === "number" ? code : 0;
  return new ApiTrouble(`${status} ${asText(message) ?? "watch failed"}`, { status });
}
