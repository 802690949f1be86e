// A kubelet without containers, for all Pods of one hollow node. Its requests are those of kubelet 1.36: a watch of its
// Pods, a bound token for each Pod, and for each report of a status a GET and a PATCH. Its answers are protobuf, which
// nobody here reads.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Dispatcher, Pool } from "undici";
import { asMap, asText } from "../../src/json/fields.ts";
import { lines } from "../../src/kube/lines.ts";
import type { AgentCommand, AgentEvent, Traffic } from "./hollow-agent.ts";
import { HollowPod } from "./hollow-pod.ts";
import { type PodShape, shapeOf } from "./pod-shape.ts";

const PROTOBUF = "application/vnd.kubernetes.protobuf";
const STRATEGIC = "application/strategic-merge-patch+json";

/** Every node has a connection of its own. Here they share as many as keep a small API server busy. */
const CONNECTIONS = 64;
const RETRY_MS = 200;

export interface KubeletOptions {
  readonly server: { readonly host: string; readonly port: number };
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly node: string;
  /** How many Pods will come. */
  readonly pods: number;
  /** For the credentials of Pods. */
  readonly folder: string;
}

/** How many Pods have got how far since the last failure. */
export interface FleetState {
  /** Their agents have published their epoch. */
  readonly published: number;
  readonly lifted: number;
  /** Their workers run, as the API server knows. */
  readonly running: number;
  /** When the last agent started, published and lifted, in milliseconds since 1970. */
  readonly last: { readonly started: number; readonly published: number; readonly lifted: number };
}

export class HollowKubelet {
  readonly #options: KubeletOptions;
  readonly #pool: Pool;
  readonly #watchPool: Pool;
  readonly #pods = new Map<string, HollowPod>();
  readonly #tellAgents: (command: AgentCommand) => void;
  /** Restarts of each Pod when a worker was last made to fail. */
  #before = new Map<string, number>();
  #release: () => void = () => {};
  #counted: (traffic: Traffic) => void = () => {};

  constructor(options: KubeletOptions, tellAgents: (command: AgentCommand) => void) {
    this.#options = options;
    this.#tellAgents = tellAgents;
    const { ca, cert, key, server } = options;
    const origin = `https://${server.host}:${server.port}`;
    this.#pool = new Pool(origin, { connections: CONNECTIONS, connect: { ca, cert, key } });
    this.#watchPool = new Pool(origin, { connections: 1, bodyTimeout: 0, connect: { ca, cert, key } });
  }

  /** Takes Pods until all have come, and then reads on as every kubelet does. */
  async watch(): Promise<never> {
    for (;;) {
      const known = this.#pods.size === this.#options.pods;
      const path = `/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3D${this.#options.node}`;
      const accept = known ? `${PROTOBUF};stream=watch` : "application/json";
      const { body } = await this.#watchPool.request({ method: "GET", path, headers: { accept } });
      try {
        if (known) for await (const _ of body);
        else await this.#take(body);
      } catch {
        // The watch is opened again.
      }
      body.destroy();
    }
  }

  async #take(body: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const line of lines(body)) {
      // Changes of Pods come as well, and are not worth their parsing.
      if (!line.startsWith('{"type":"ADDED"')) continue;
      const shape = shapeOf(asMap(JSON.parse(line))["object"]);
      if (!this.#pods.has(shape.name)) this.#adopt(shape);
      if (this.#pods.size === this.#options.pods) return;
    }
  }

  #adopt(shape: PodShape): void {
    const pod = new HollowPod(shape, this.#pods.size, {
      report: (of, patch) => this.#report(of, patch),
      startAgent: (agent, of) => this.#startAgent(agent, of),
      killAgent: (agent) => this.#tellAgents({ do: "kill", agent }),
      sleep,
    });
    this.#pods.set(shape.name, pod);
    void this.#credentials(shape).then(() => pod.start());
  }

  /** A worker of each JobSet exits. With `hold`, another Pod of each stays down until `release`. */
  fail(hold: boolean): number {
    this.#before = new Map([...this.#pods].map(([name, { restarts }]) => [name, restarts]));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#release = resolve;
    const groups = Map.groupBy(this.#pods.values(), ({ shape }) => shape.jobSet);
    if (hold) for (const pods of groups.values()) pods.at(-1)?.hold(promise);
    const at = Date.now();
    for (const [pod] of groups.values()) pod?.fail(1);
    return at;
  }

  release(): void {
    this.#release();
  }

  state(): FleetState {
    const back = [...this.#pods.values()].filter((pod) => pod.restarts > (this.#before.get(pod.shape.name) ?? -1));
    const published = back.flatMap(({ publishedAt }) => publishedAt ?? []);
    const lifted = back.flatMap(({ liftedAt }) => liftedAt ?? []);
    const last = (times: readonly number[]) => times.reduce((latest, at) => Math.max(latest, at), 0);
    return {
      published: published.length,
      lifted: lifted.length,
      running: back.filter(({ isReported }) => isReported).length,
      last: {
        started: last(back.map(({ agentStartedAt }) => agentStartedAt)),
        published: last(published),
        lifted: last(lifted),
      },
    };
  }

  traffic(): Promise<Traffic> {
    return new Promise((resolve) => {
      this.#counted = resolve;
      this.#tellAgents({ do: "count" });
    });
  }

  hear(event: AgentEvent): void {
    if (event.what === "counted") {
      this.#counted(event.traffic);
      return;
    }
    const pod = this.#pods.get(event.agent.slice(0, event.agent.indexOf("#")));
    if (event.what === "exited") pod?.agentExited(event.agent, event.exitCode);
    else if (event.what === "lifted") void pod?.agentLifted(event.agent, event.at);
    else pod?.agentPublished(event.agent, event.at);
  }

  async #report(pod: PodShape, patch: object): Promise<void> {
    const path = podPath(pod);
    await this.#send({ method: "GET", path });
    await this.#send({
      method: "PATCH",
      path: `${path}/status`,
      headers: { "content-type": STRATEGIC },
      body: JSON.stringify(patch),
    });
  }

  #startAgent(agent: string, { name, namespace, agentEnv }: PodShape): void {
    const place = {
      env: { ...agentEnv, NAMESPACE: namespace },
      server: this.#options.server,
      credentialsFolder: this.#folderOf(name),
    };
    this.#tellAgents({ do: "start", agent, place });
  }

  /** A token bound to the Pod, in the files that its volume would have. Restarts in place keep it. */
  async #credentials({ name, namespace, uid, serviceAccount }: PodShape): Promise<void> {
    const boundObjectRef = { kind: "Pod", apiVersion: "v1", name, uid };
    const answer = await this.#send({
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ spec: { expirationSeconds: TOKEN_SECONDS, boundObjectRef } }),
    });
    const token = asText(asMap(asMap(JSON.parse(answer))["status"])["token"]) ?? "";
    mkdirSync(this.#folderOf(name), { recursive: true });
    writeFileSync(join(this.#folderOf(name), "token"), token);
    writeFileSync(join(this.#folderOf(name), "ca.crt"), this.#options.ca);
  }

  #folderOf(pod: string): string {
    return join(this.#options.folder, pod);
  }

  /** Retries until the API server has done it. */
  async #send(request: Omit<Dispatcher.RequestOptions, "origin">): Promise<string> {
    for (;;) {
      try {
        const headers = { accept: PROTOBUF, ...(request.headers as Record<string, string>) };
        const { statusCode, body } = await this.#pool.request({ ...request, headers });
        const answer = await body.text();
        if (statusCode < 300) return answer;
        console.error(`${request.method} ${request.path}: ${statusCode} ${answer.slice(0, 300)}`);
      } catch (error) {
        console.error(`${request.method} ${request.path}: ${String(error)}`);
      }
      await sleep(RETRY_MS);
    }
  }
}

/** A day, as injection asks for. */
const TOKEN_SECONDS = 86_400;

function podPath({ namespace, name }: PodShape): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}
