// Answers sample reviews before the first real one, so that V8 has compiled the path through TLS, HTTP and the cores. A
// webhook is called rarely: otherwise nearly every request of a small cluster would be a slow first one. It has no side
// effects: it uses its own server on loopback, and metrics and a log that discard everything.
import { Agent, type RequestOptions, request } from "node:https";
import { pino } from "pino";
import { ANNOTATION, JOBSET } from "../api/names.ts";
import type { JsonObject } from "../json/types.ts";
import { type Cores, createAdmission } from "./admission.ts";
import type { ServingPair } from "./certificate.ts";
import type { WebhookMetrics, WebhookName } from "./metrics.ts";
import { REVIEW_API_VERSION, REVIEW_KIND } from "./review.ts";
import { createAdmissionServer } from "./server.ts";

const LOOPBACK = "127.0.0.1";

/** For each webhook. Measured: the first real request then takes 10 ms instead of 47 ms; 300 were not better. */
const REQUESTS = 100;

/** It takes 0.2 s of CPU time. On a node with no CPU to spare, serving slowly is better than not serving. */
const TIMEOUT_MS = 1_000;

const NO_METRICS: WebhookMetrics = {
  answered() {},
  started: () => () => {},
  certificateLoaded() {},
  certificateRejected() {},
};

export async function warmUp(cores: Cores, pair: ServingPair): Promise<void> {
  // Lines are formatted as in production and discarded.
  const log = pino({ level: "info" }, { write() {} });
  const server = createAdmissionServer(createAdmission(cores, NO_METRICS, log), NO_METRICS);
  server.useCertificate(pair);
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    // Trusts exactly this certificate, whatever its name.
    ca: pair.cert,
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
  });
  try {
    await server.listen({ host: LOOPBACK, port: 0 });
    const send = (webhook: WebhookName, body: Buffer) =>
      post({ port: server.port(), path: `/${webhook}`, agent }, body);
    const plain = review(SAMPLE);
    const outcome = cores.inject({ operation: "CREATE", namespace: NAMESPACE, object: SAMPLE });
    const final = outcome.kind === "injected" ? review(outcome.object) : plain;
    const began = performance.now();
    for (let count = 0; count < REQUESTS && performance.now() - began < TIMEOUT_MS; count++) {
      await send("mutate", plain);
      await send("validate", final);
    }
  } finally {
    agent.destroy();
    await server.close();
  }
}

function post(options: RequestOptions, body: Buffer): Promise<void> {
  const headers = { "content-type": "application/json", "content-length": body.length };
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, host: LOOPBACK, method: "POST", headers }, (response) => {
      response.on("error", reject).on("end", resolve).resume();
    });
    sent.on("error", reject).end(body);
  });
}

const NAMESPACE = "warm-up";

/** A typical JobSet. It requests injection, because an installation may inject on request only. */
const SAMPLE: JsonObject = {
  apiVersion: `${JOBSET.group}/${JOBSET.version}`,
  kind: JOBSET.kind,
  metadata: { name: "sample", namespace: NAMESPACE, annotations: { [ANNOTATION.inject]: "true" } },
  spec: {
    failurePolicy: { maxRestarts: 3 },
    replicatedJobs: ["leader", "workers"].map((name) => ({
      name,
      replicas: 1,
      template: { spec: { parallelism: 2, completions: 2, backoffLimit: 0, template: podTemplate() } },
    })),
  },
};

function podTemplate(): JsonObject {
  const amounts = { cpu: "4", memory: "16Gi", "nvidia.com/gpu": "1" };
  const container = {
    name: "trainer",
    image: "trainer:1",
    command: ["python", "train.py"],
    env: Array.from({ length: 30 }, (_, index) => ({ name: `SETTING_${index}`, value: "a value of usual length" })),
    resources: { requests: amounts, limits: amounts },
    volumeMounts: [{ name: "shm", mountPath: "/dev/shm" }],
  };
  const volumes = [{ name: "shm", emptyDir: { medium: "Memory" } }];
  return { metadata: { labels: { app: "train" } }, spec: { restartPolicy: "Never", containers: [container], volumes } };
}

function review(object: JsonObject): Buffer {
  const asked = { uid: "warm-up", operation: "CREATE", namespace: NAMESPACE, name: "sample", dryRun: false };
  return Buffer.from(
    JSON.stringify({
      apiVersion: REVIEW_API_VERSION,
      kind: REVIEW_KIND,
      request: { ...asked, object, oldObject: null },
    }),
  );
}
