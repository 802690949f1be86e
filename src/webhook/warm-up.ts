// Answers sample reviews before the first real one comes, so that V8 has compiled the way through TLS, HTTP and the cores.
// A webhook is asked rarely: without this nearly every request of a small cluster would be one of the slow first ones.
// Nothing of it is seen outside: a server of its own on loopback, with metrics and a log that keep nothing.
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

/** Of each kind. Measured: the first real request then takes 10 ms instead of 47; 300 were not measurably better. */
const REQUESTS = 100;

/** It takes 0.2 s of CPU. On a node that has none to spare, serving slowly is better than not serving. */
const AT_MOST_MS = 1_000;

const UNCOUNTED: WebhookMetrics = {
  answered() {},
  started: () => () => {},
  certificateLoaded() {},
  certificateRejected() {},
};

export async function warmUp(cores: Cores, pair: ServingPair): Promise<void> {
  // A line is put together as in production, and goes nowhere.
  const log = pino({ level: "info" }, { write() {} });
  const server = createAdmissionServer(createAdmission(cores, UNCOUNTED, log), UNCOUNTED);
  server.useCertificate(pair);
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    // Trusts exactly the certificate that was just given to the server, whatever name it is for.
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
    for (let count = 0; count < REQUESTS && performance.now() - began < AT_MOST_MS; count++) {
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

/** Has what most JobSets have. Asks for injection, because an install may inject on request only. */
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
