// Keeps knowing what the cluster lacks: asks at the start, soon again while something is missing, and now and then after that,
// because clusters are upgraded, and downgraded, under a running program. Trouble with the API server changes nothing that is known.

import { JOBSET } from "../api/names.ts";
import { type ClusterFacts, judgeCluster, type Lack } from "../api/prerequisites.ts";
import type { JsonObject } from "../json/types.ts";
import type { Logger } from "../telemetry/log.ts";
import { hasStatus } from "./api-error.ts";

/** What asking needs of a client. */
export interface AskingClient {
  request(method: "GET", path: string, options?: { readonly signal?: AbortSignal }): Promise<JsonObject>;
}

export interface PrerequisitesOptions {
  readonly client: AskingClient;
  readonly log: Logger;
  /** The MutatingWebhookConfiguration whose trust matters; asking needs the right to read it. */
  readonly webhookConfiguration?: string;
}

/** Soon: somebody is installing what is missing, and waits. */
const LACKING_MS = 5_000;
/** The answer about JobSet is half a megabyte, and changes with an upgrade. */
const COMPLETE_MS = 600_000;

export class Prerequisites {
  readonly #options: PrerequisitesOptions;
  readonly #ending = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #lacks: readonly Lack[] = [];

  constructor(options: PrerequisitesOptions) {
    this.#options = options;
  }

  /** As far as is known. */
  get lacks(): readonly Lack[] {
    return this.#lacks;
  }

  /** Resolves when the cluster was asked once, whatever came of it. */
  async start(): Promise<void> {
    const { client, log, webhookConfiguration } = this.#options;
    const { signal } = this.#ending;
    let next = LACKING_MS;
    try {
      const facts = await readFacts(client, webhookConfiguration, signal);
      this.#tell(judgeCluster(facts));
      if (this.#lacks.length === 0) next = COMPLETE_MS;
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, "cannot read cluster prerequisites, retrying");
    }
    if (signal.aborted) return;
    this.#timer = setTimeout(() => void this.start(), next);
    this.#timer.unref();
  }

  stop(): void {
    this.#ending.abort();
    clearTimeout(this.#timer);
  }

  #tell(lacks: readonly Lack[]): void {
    const { log } = this.#options;
    const known = new Set(this.#lacks.map(({ message }) => message));
    for (const { reason, message } of lacks) if (!known.has(message)) log.error({ reason }, message);
    if (known.size > 0 && lacks.length === 0) log.info("the cluster lacks nothing any more");
    this.#lacks = lacks;
  }
}

async function readFacts(
  client: AskingClient,
  webhookConfiguration: string | undefined,
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const ask = async (path: string): Promise<JsonObject | undefined> => {
    try {
      return await client.request("GET", path, { signal });
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  };
  const version = await ask("/version");
  const jobSetApi = await ask(`/openapi/v3/apis/${JOBSET.group}/${JOBSET.version}`);
  if (webhookConfiguration === undefined) return { version, jobSetApi };
  const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${webhookConfiguration}`;
  const certManager = (await ask("/apis/cert-manager.io")) !== undefined;
  return { version, jobSetApi, webhookConfiguration: await ask(path), certManager };
}
