// Tracks which prerequisites the cluster lacks: reads them at the start, soon again while one is missing, and from time
// to time after that, because clusters are upgraded and downgraded. API server errors do not change what is known.

import { JOBSET } from "../api/names.ts";
import { type ClusterFacts, judgeCluster, type Lack } from "../api/prerequisites.ts";
import type { JsonObject } from "../json/types.ts";
import type { Logger } from "../telemetry/log.ts";
import { hasStatus } from "./api-error.ts";

/** The part of a client that is used. */
interface PrerequisitesClient {
  request(method: "GET", path: string, options?: { readonly signal?: AbortSignal }): Promise<JsonObject>;
}

export interface PrerequisitesOptions {
  readonly client: PrerequisitesClient;
  readonly log: Logger;
  /** The MutatingWebhookConfiguration whose caBundle is checked. Requires permission to read it. */
  readonly webhookConfiguration?: string;
}

/** Short: a user is probably installing what is missing, and waits. */
const INCOMPLETE_RECHECK_MS = 5_000;
/** Long: the OpenAPI document of JobSet is half a megabyte and changes only with an upgrade. */
const COMPLETE_RECHECK_MS = 600_000;

export class Prerequisites {
  readonly #options: PrerequisitesOptions;
  readonly #ending = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #lacks: readonly Lack[] = [];

  constructor(options: PrerequisitesOptions) {
    this.#options = options;
  }

  /** What is missing, as far as is known. */
  get lacks(): readonly Lack[] {
    return this.#lacks;
  }

  /** Resolves after the first attempt, whether or not it succeeded. */
  async start(): Promise<void> {
    const { client, log, webhookConfiguration } = this.#options;
    const { signal } = this.#ending;
    let next = INCOMPLETE_RECHECK_MS;
    try {
      const facts = await readFacts(client, webhookConfiguration, signal);
      this.#update(judgeCluster(facts));
      if (this.#lacks.length === 0) next = COMPLETE_RECHECK_MS;
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

  #update(lacks: readonly Lack[]): void {
    const { log } = this.#options;
    const known = new Set(this.#lacks.map(({ message }) => message));
    for (const { reason, message } of lacks) if (!known.has(message)) log.error({ reason }, message);
    if (known.size > 0 && lacks.length === 0) log.info("all cluster prerequisites are met");
    this.#lacks = lacks;
  }
}

export async function readFacts(
  client: PrerequisitesClient,
  webhookConfiguration?: string,
  signal?: AbortSignal,
): Promise<ClusterFacts> {
  const options = signal === undefined ? {} : { signal };
  const read = async (path: string): Promise<JsonObject | undefined> => {
    try {
      return await client.request("GET", path, options);
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  };
  const version = await read("/version");
  const jobSetApi = await read(`/openapi/v3/apis/${JOBSET.group}/${JOBSET.version}`);
  if (webhookConfiguration === undefined) return { version, jobSetApi };
  const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${webhookConfiguration}`;
  const certManager = (await read("/apis/cert-manager.io")) !== undefined;
  return { version, jobSetApi, webhookConfiguration: await read(path), certManager };
}
