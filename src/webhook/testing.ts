// Real parts for the webhook's tests: a certificate directory that is swapped as the kubelet does it, a running
// webhook, and clients that count failures. For tests only.
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { type Agent, type RequestOptions, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { type CertificateRequest, createAuthority, type KeyPair } from "../../test/cluster/pki.ts";
import { eventually } from "../../test/eventually.ts";
import { defaultConfig } from "../config/config.ts";
import type { JsonObject } from "../json/types.ts";
import { createCores } from "./cores.ts";
import type { AdmissionResponse } from "./response.ts";
import { type RunningWebhook, runWebhook, type WebhookOptions } from "./run.ts";

const HOST = "127.0.0.1";

export const authority = createAuthority("reprise test authority");

export function issue(request: Partial<CertificateRequest> = {}): KeyPair {
  return authority.issue({ commonName: "reprise-webhook", ipAddresses: [HOST], ...request });
}

/** A directory as the kubelet mounts a Secret: the files link through `..data`, which is swapped in one step. */
export class SecretVolume {
  readonly directory: string;
  #generation = 0;

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async create(): Promise<SecretVolume> {
    return new SecretVolume(await mkdtemp(join(tmpdir(), "reprise-tls-")));
  }

  async write(pair: KeyPair): Promise<void> {
    const generation = `..generation-${this.#generation++}`;
    await mkdir(join(this.directory, generation));
    await writeFile(join(this.directory, generation, "tls.crt"), pair.cert);
    await writeFile(join(this.directory, generation, "tls.key"), pair.key);
    await symlink(generation, join(this.directory, "..data_tmp"));
    await rename(join(this.directory, "..data_tmp"), join(this.directory, "..data"));
    if (this.#generation === 1) {
      await symlink("..data/tls.crt", join(this.directory, "tls.crt"));
      await symlink("..data/tls.key", join(this.directory, "tls.key"));
    } else {
      await rm(join(this.directory, `..generation-${this.#generation - 2}`), { recursive: true });
    }
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

export const cores = createCores(defaultConfig);

export interface TestWebhook extends RunningWebhook {
  readonly registry: Registry;
  readonly logLines: readonly Record<string, unknown>[];
}

export async function startWebhook(
  options: Partial<WebhookOptions> & Pick<WebhookOptions, "certDir">,
): Promise<TestWebhook> {
  const registry = new Registry();
  const logLines: Record<string, unknown>[] = [];
  const log = pino({ level: "debug" }, { write: (line) => logLines.push(JSON.parse(line)) });
  const running = await runWebhook({
    cores,
    host: HOST,
    port: 0,
    healthPort: 0,
    log,
    registry,
    drain: { minMs: 0, maxMs: 1_000 },
    ...options,
  });
  return { ...running, registry, logLines };
}

/** A plain JobSet; top-level fields can be replaced. */
export function jobSet(extra: JsonObject = {}): JsonObject {
  const pod = { containers: [{ name: "trainer", image: "trainer:1", env: [{ name: "PASSWORD", value: "hunter2" }] }] };
  return {
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: { name: "train", namespace: "team" },
    spec: { replicatedJobs: [{ name: "workers", template: { spec: { template: { spec: pod } } } }] },
    ...extra,
  };
}

/** The plain JobSet after injection. */
export function injectedJobSet(): JsonObject {
  const outcome = cores.inject({ operation: "CREATE", namespace: "team", object: jobSet() });
  if (outcome.kind !== "injected") throw new Error(`the plain JobSet is ${outcome.kind}`);
  return outcome.object;
}

export function reviewText(request: JsonObject = {}, review: JsonObject = {}): string {
  return JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "u-1", operation: "CREATE", namespace: "team", name: "train", object: jobSet(), ...request },
    ...review,
  });
}

export interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
}

export interface Post {
  readonly port: number;
  readonly path?: string;
  readonly body?: string | Buffer;
  readonly agent?: Agent | false;
  readonly headers?: Record<string, string>;
  readonly method?: string;
}

export function post({ port, path = "/mutate", body, agent = false, headers, method = "POST" }: Post): Promise<Answer> {
  const options: RequestOptions = {
    host: HOST,
    port,
    path: `${path}?timeout=5s`,
    method,
    agent,
    ca: authority.cert,
    headers: { "content-type": "application/json", ...headers },
  };
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export function responseOf(answer: Answer): AdmissionResponse {
  return JSON.parse(answer.text).response;
}

export async function health(port: number, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://${HOST}:${port}${path}`);
  return { status: response.status, text: await response.text() };
}

interface LoadResult {
  readonly sent: number;
  /** Each distinct failure once. */
  readonly failures: readonly string[];
}

export interface Load {
  /** Resolves after this many more responses. */
  responses(count: number): Promise<void>;
  stop(): Promise<LoadResult>;
}

/** Clients that each send one request after the other. A slow machine sends fewer, and none pile up. */
export function startLoad(clients: number, send: (client: number) => Promise<Answer>): Load {
  const failures = new Set<string>();
  let sent = 0;
  let answered = 0;
  let isStopped = false;
  const running = Array.from({ length: clients }, (_, client) => run(client));

  async function run(client: number): Promise<void> {
    while (!isStopped) {
      sent += 1;
      try {
        const answer = await send(client);
        if (answer.status !== 200 || !responseOf(answer).allowed) failures.add(`${answer.status} ${answer.text}`);
      } catch (error) {
        failures.add(String(error));
      }
      answered += 1;
    }
  }

  return {
    async responses(count) {
      const goal = answered + count;
      await eventually(() => answered >= goal);
    },
    async stop() {
      isStopped = true;
      await Promise.all(running);
      return { sent, failures: [...failures] };
    },
  };
}
