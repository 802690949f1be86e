import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import { afterEach, expect, test, vi } from "vitest";
import type { KeyPair } from "../../test/cluster/pki.ts";
import { eventually } from "../../test/eventually.ts";
import { CertificateWatch } from "./certificate-watch.ts";
import { health, issue, post, reviewText, SecretVolume, startWebhook, type TestWebhook } from "./testing.ts";

// Milliseconds on an idle machine. The timeout is for a busy one.
vi.setConfig({ testTimeout: 120_000 });

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  vi.useRealTimers();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function emptyVolume(): Promise<SecretVolume> {
  const volume = await SecretVolume.create();
  cleanups.push(() => volume.remove());
  return volume;
}

async function start(certDir: string, certificatePollMs = 60_000): Promise<TestWebhook> {
  const webhook = await startWebhook({ certDir, certificatePollMs });
  cleanups.push(() => webhook.shutdown());
  return webhook;
}

const answers = async ({ port }: TestWebhook) => (await post({ port, body: reviewText() })).status;

async function loads({ registry }: TestWebhook, result: "loaded" | "rejected"): Promise<number> {
  const metric = await registry.getSingleMetric("reprise_webhook_certificate_loads_total")?.get();
  return metric?.values.find(({ labels }) => labels["result"] === result)?.value ?? Number.NaN;
}

test("a webhook without a certificate is not ready, logs it, and serves when the certificate appears", async () => {
  const volume = await emptyVolume();
  const webhook = await start(volume.directory);
  const before = await health(webhook.healthPort, "/readyz");
  expect(before.status).toBe(503);
  expect(before.text).toContain(`no usable certificate in ${volume.directory}: ENOENT`);
  expect((await health(webhook.healthPort, "/healthz")).status).toBe(200);
  expect(webhook.logLines.map(({ msg }) => msg)).toContain("waiting for a certificate");
  await expect(answers(webhook)).rejects.toThrow();

  await volume.write(issue());
  await eventually(async () => (await health(webhook.healthPort, "/readyz")).status === 200);
  expect(await answers(webhook)).toBe(200);
});

test("a directory that does not exist yet is found by the poll", async () => {
  const volume = await emptyVolume();
  const directory = join(volume.directory, "later");
  const webhook = await start(directory, 50);
  const { cert, key } = issue();
  await mkdir(directory);
  await writeFile(join(directory, "tls.crt"), cert);
  await writeFile(join(directory, "tls.key"), key);
  await eventually(async () => (await health(webhook.healthPort, "/readyz")).status === 200);
});

test("a directory replaced as a whole, which kills the watch, is found by the poll", async () => {
  const volume = await emptyVolume();
  await volume.write(issue());
  const webhook = await start(volume.directory, 50);
  await rm(volume.directory, { recursive: true });
  await mkdir(volume.directory);
  const { cert, key } = issue();
  await writeFile(join(volume.directory, "tls.crt"), cert);
  await writeFile(join(volume.directory, "tls.key"), key);
  await eventually(async () => (await loads(webhook, "loaded")) === 2);
});

test.each<[string, () => KeyPair]>([
  ["does not match its key", () => ({ cert: issue().cert, key: issue().key })],
  ["is cut off", () => ({ ...issue(), cert: issue().cert.slice(0, 100) })],
  ["has expired", () => issue({ notAfter: new Date(Date.now() - 1_000) })],
])("a new certificate that %s does not replace the old one, and the next good one does", async (_what, broken) => {
  const volume = await emptyVolume();
  await volume.write(issue());
  const webhook = await start(volume.directory);

  await volume.write(broken());
  await eventually(async () => (await loads(webhook, "rejected")) === 1);
  expect(webhook.logLines.map(({ msg }) => msg)).toContain("new certificate is not usable, keeping the old one");
  expect((await health(webhook.healthPort, "/readyz")).status).toBe(200);
  expect(await answers(webhook)).toBe(200);

  await volume.write(issue());
  await eventually(async () => (await loads(webhook, "loaded")) === 2);
  expect(await answers(webhook)).toBe(200);
});

test("the same broken pair is reported once, however often it is polled", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const volume = await emptyVolume();
  await volume.write({ cert: issue().cert, key: issue().key });
  const certificateRejected = vi.fn();
  const watch = new CertificateWatch({
    directory: volume.directory,
    log: pino({ level: "silent" }),
    metrics: { answered() {}, started: () => () => {}, certificateLoaded() {}, certificateRejected },
    onPair() {},
  });
  cleanups.push(async () => watch.stop());
  await watch.start();
  for (let poll = 0; poll < 3; poll++) {
    vi.advanceTimersByTime(10_000);
    // The timer of the next poll is set when this one is done.
    while (vi.getTimerCount() === 0) await setImmediate();
  }
  expect(certificateRejected).toHaveBeenCalledTimes(1);
});

test("the webhook is not ready once its certificate has expired, and ready again with a new one", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const volume = await emptyVolume();
  const notAfter = new Date("2040-01-01T00:00:00Z");
  await volume.write(issue({ notAfter }));
  const webhook = await start(volume.directory);
  expect((await health(webhook.healthPort, "/readyz")).status).toBe(200);
  const { text } = await health(webhook.healthPort, "/metrics");
  expect(text).toContain(`reprise_webhook_certificate_expiry_timestamp_seconds ${notAfter.getTime() / 1_000}`);

  vi.setSystemTime(notAfter);
  const expired = await health(webhook.healthPort, "/readyz");
  expect(expired.status).toBe(503);
  expect(expired.text).toContain(`the certificate expired at ${notAfter.toISOString()}`);
  expect((await health(webhook.healthPort, "/healthz")).status).toBe(200);

  await volume.write(issue({ notAfter: new Date("2041-01-01T00:00:00Z") }));
  await eventually(async () => (await health(webhook.healthPort, "/readyz")).status === 200);
});
