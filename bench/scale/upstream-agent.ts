// A hollow agent of upstream's protocol, with the requests of cmd/in-place-restart-agent of JobSet 0.12 (client-go
// 0.36, controller-runtime 0.24): discovery, a watch of its JobSet that begins with the current state, and one
// server-side apply, all over one HTTP/2 connection of its own. The decisions are in upstream-decide.ts. Runs under
// bun.
import { readFileSync } from "node:fs";
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { JOBSET } from "../../src/api/names.ts";
import { asMap, asText } from "../../src/json/fields.ts";
import { backoffDelay } from "../../src/kube/backoff.ts";
import { lines } from "../../src/kube/lines.ts";
import { type AgentPlace, countFailure, type StartAgent, type Traffic } from "./hollow-agent.ts";
import { decideUpstream, type UpstreamState } from "./upstream-decide.ts";

const EXIT_CODE = 1;
const MANAGER = "in-place-restart-agent";
const DISCOVERY =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
const ACCEPT = "application/json, */*";
/** client-go's reflector asks for 5 to 10 minutes. */
const WATCH_SECONDS = { min: 300, max: 600 };
/** controller-runtime's work queue, which retries a failed apply. */
const APPLY_RETRY = { initialMs: 5, maxMs: 1_000_000 };
/** client-go's reflector. */
const WATCH_RETRY = { initialMs: 800, maxMs: 30_000 };

class Refused extends Error {
  readonly status: number;
  readonly retryAfterMs: number;

  constructor(status: number, retryAfter: unknown) {
    super(String(status));
    this.status = status;
    this.retryAfterMs = Number(retryAfter ?? 0) * 1000;
  }
}

export const startUpstreamAgent: StartAgent = (place, events, traffic) => {
  const agent = new UpstreamAgent(place, traffic, (action) => {
    if (action === "published") events.published();
    else if (action === "lift") events.lifted();
    else events.exited(EXIT_CODE);
  });
  void agent.run();
  return { kill: () => agent.end() };
};

class UpstreamAgent {
  readonly #place: AgentPlace;
  readonly #traffic: Traffic;
  readonly #onAction: (action: "published" | "lift" | "exit") => void;
  readonly #credentials: { readonly token: string; readonly ca: string };
  #session: ClientHttp2Session | undefined;
  #state: UpstreamState = { isLifted: false };
  #isAlive = true;

  constructor(place: AgentPlace, traffic: Traffic, onAction: (action: "published" | "lift" | "exit") => void) {
    this.#place = place;
    this.#traffic = traffic;
    this.#onAction = onAction;
    const read = (name: string) => readFileSync(`${place.credentialsFolder}/${name}`, "utf8").trim();
    this.#credentials = { token: read("token"), ca: read("ca.crt") };
  }

  end(): void {
    this.#isAlive = false;
    this.#session?.destroy();
  }

  async run(): Promise<void> {
    let isDiscovered = false;
    for (let failures = 0; this.#isAlive; failures++) {
      try {
        if (!isDiscovered) for (const path of ["/api", "/apis"]) await this.#discover(path);
        isDiscovered = true;
        for await (const object of this.#watch()) {
          failures = 0;
          await this.#reconcile(object);
          if (!this.#isAlive) return;
        }
      } catch (error) {
        if (!this.#isAlive) return;
        countFailure(this.#traffic, error instanceof Refused ? error.status : undefined, String(error));
        const retryAfterMs = error instanceof Refused ? error.retryAfterMs : 0;
        await sleep(Math.max(retryAfterMs, backoffDelay(WATCH_RETRY, failures + 1, Math.random)));
      }
    }
  }

  async #reconcile(jobSet: unknown): Promise<void> {
    for (;;) {
      const action = decideUpstream(this.#state, jobSet);
      if (action.kind === "wait" || !this.#isAlive) return;
      if (action.kind === "exit") {
        this.end();
        this.#onAction("exit");
        return;
      }
      if (action.kind === "lift") {
        this.#state = { ...this.#state, isLifted: true };
        this.#onAction("lift");
      } else {
        await this.#apply(action.attempt);
        this.#state = { ...this.#state, attempt: action.attempt };
        if (this.#isAlive) this.#onAction("published");
      }
    }
  }

  async #apply(attempt: number): Promise<void> {
    const { NAMESPACE: namespace = "", POD_NAME: name = "" } = this.#place.env;
    const annotations = { [JOBSET.inPlaceRestartAttemptAnnotation]: String(attempt) };
    const body = JSON.stringify({ kind: "Pod", apiVersion: "v1", metadata: { name, namespace, annotations } });
    const path = `/api/v1/namespaces/${namespace}/pods/${name}?fieldManager=${MANAGER}&force=true`;
    const headers = { ":method": "PATCH", ":path": path, "content-type": "application/apply-patch+yaml" };
    for (let failures = 1; this.#isAlive; failures++) {
      try {
        for await (const _ of await this.#open({ ...headers, accept: ACCEPT }, body));
        return;
      } catch (error) {
        if (!this.#isAlive) return;
        countFailure(this.#traffic, error instanceof Refused ? error.status : undefined, String(error));
        const retryAfterMs = error instanceof Refused ? error.retryAfterMs : 0;
        await sleep(Math.max(retryAfterMs, backoffDelay(APPLY_RETRY, failures, Math.random)));
      }
    }
  }

  async #discover(path: string): Promise<void> {
    const headers = { ":path": path, accept: DISCOVERY };
    for await (const _ of await this.#open(headers));
  }

  async *#watch(): AsyncGenerator<unknown, void, undefined> {
    const { NAMESPACE: namespace = "", JOBSET_NAME: name = "" } = this.#place.env;
    const { min, max } = WATCH_SECONDS;
    const query = new URLSearchParams({
      allowWatchBookmarks: "true",
      fieldSelector: `metadata.name=${name}`,
      resourceVersionMatch: "NotOlderThan",
      sendInitialEvents: "true",
      timeoutSeconds: String(Math.round(min + (max - min) * Math.random())),
      watch: "true",
    });
    const path = `/apis/${JOBSET.group}/${JOBSET.version}/namespaces/${namespace}/${JOBSET.plural}?${query}`;
    this.#traffic.watches += 1;
    const body = await this.#open({ ":path": path, accept: ACCEPT });
    for await (const line of lines(this.#measured(body))) {
      const { type, object } = asMap(JSON.parse(line));
      if (type === "ERROR") throw new Error(asText(asMap(object)["message"]) ?? "watch failed");
      if (type !== "BOOKMARK") yield object;
    }
  }

  async *#measured(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of body) {
      this.#traffic.watchBytes += chunk.length;
      yield chunk;
    }
  }

  /** Resolves to the body once the server answers with success. */
  #open(headers: OutgoingHttpHeaders, body?: string): Promise<AsyncIterable<Uint8Array>> {
    this.#traffic.requests += 1;
    const session = this.#connected();
    const authorization = `Bearer ${this.#credentials.token}`;
    return new Promise((resolve, reject) => {
      const stream = session.request({ ...headers, authorization, "accept-encoding": "gzip", "user-agent": MANAGER });
      stream.on("error", reject);
      stream.on("response", ({ ":status": status = 0, "retry-after": retryAfter }) => {
        if (status < 300) return resolve(stream);
        stream.resume();
        reject(new Refused(status, retryAfter));
      });
      stream.end(body);
    });
  }

  #connected(): ClientHttp2Session {
    const { host, port } = this.#place.server;
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      this.#session = connect(`https://${host}:${port}`, { ca: this.#credentials.ca });
      // Its streams fail with it, and they report it.
      this.#session.on("error", () => {});
    }
    return this.#session;
  }
}
