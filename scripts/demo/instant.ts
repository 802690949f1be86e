// The first part of the demo, without a cluster: sends the real webhook, over TLS on loopback, the AdmissionReview that
// the API server sends for a plain JobSet, and shows the patch.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import jsonPatch, { type Operation } from "fast-json-patch";
import { pino } from "pino";
import { Registry } from "prom-client";
import { parse, stringify } from "yaml";
import { unifiedDiff } from "../../src/cli/output/diff.ts";
import { defaultConfig } from "../../src/config/config.ts";
import { createCores } from "../../src/webhook/cores.ts";
import { runWebhook } from "../../src/webhook/run.ts";
import { createAuthority } from "../../test/cluster/pki.ts";

const HOST = "127.0.0.1";

export async function showInjection(file: string): Promise<void> {
  const text = readFileSync(file, "utf8");
  const folder = mkdtempSync(join(tmpdir(), "reprise-demo-"));
  const authority = createAuthority("reprise demo");
  const pair = authority.issue({ commonName: "reprise-webhook", ipAddresses: [HOST] });
  writeFileSync(join(folder, "tls.crt"), pair.cert);
  writeFileSync(join(folder, "tls.key"), pair.key);
  const webhook = await runWebhook({
    cores: createCores(defaultConfig),
    certDir: folder,
    host: HOST,
    port: 0,
    healthPort: 0,
    log: pino({ level: "silent" }),
    registry: new Registry(),
    drain: { minMs: 0, maxMs: 0 },
  });
  try {
    const plain: unknown = parse(text);
    const began = performance.now();
    const operations = await requestPatch(webhook.port, authority.cert, plain);
    const took = performance.now() - began;
    const injected: unknown = jsonPatch.applyPatch(plain, operations, false, false).newDocument;
    process.stdout.write(`The webhook responded in ${took.toFixed(1)} ms. It adds to ${file}:\n\n`);
    const diff = unifiedDiff(stringify(parse(text)), stringify(injected), ["in Git", "in the cluster"]);
    for (const line of diff) process.stdout.write(`  ${colored(line)}\n`);
  } finally {
    await webhook.shutdown();
    rmSync(folder, { recursive: true });
  }
}

/** Sends an AdmissionReview over TLS, as the API server does. */
async function requestPatch(port: number, ca: string, object: unknown): Promise<Operation[]> {
  const review = {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "demo", operation: "CREATE", namespace: "team", dryRun: false, object },
  };
  const answer = await new Promise<string>((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const outgoing = request({ host: HOST, port, ca, path: "/mutate", method: "POST", headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve(Buffer.concat(chunks).toString()));
    });
    outgoing.on("error", reject);
    outgoing.end(JSON.stringify(review));
  });
  const { response } = JSON.parse(answer) as { response: { patch?: string } };
  if (response.patch === undefined) throw new Error(`the webhook did not inject: ${answer}`);
  return JSON.parse(Buffer.from(response.patch, "base64").toString()) as Operation[];
}

function colored(line: string): string {
  if (line.startsWith("+")) return styleText("green", line);
  if (line.startsWith("-")) return styleText("red", line);
  return line.startsWith("@") ? styleText("cyan", line) : line;
}
