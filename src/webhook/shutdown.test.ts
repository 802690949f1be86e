import { Agent, type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { connect } from "node:tls";
import { expect, test, vi } from "vitest";
import { eventually } from "../../test/eventually.ts";
import {
  authority,
  health,
  issue,
  post,
  reviewText,
  SecretVolume,
  startLoad,
  startWebhook,
  type TestWebhook,
} from "./testing.ts";

// Milliseconds on an idle machine. The timeout is for a busy one.
vi.setConfig({ testTimeout: 120_000 });

/**
 * Connections to a Service as the API server makes them: pooled by the Service's name, whatever replica is behind each.
 * A new one goes to any replica that is still listed. A replica leaves the list some time after it became unready.
 */
class ServiceAgent extends Agent {
  readonly endpoints: number[];

  constructor(endpoints: number[]) {
    // In turn, so that no connection stays idle and delays the drain.
    super({ keepAlive: true, scheduling: "fifo", maxSockets: 8, ca: authority.cert });
    this.endpoints = endpoints;
  }

  override createConnection(options: RequestOptions, done?: (error: Error | null, stream: Duplex) => void) {
    const port = this.endpoints[Math.floor(Math.random() * this.endpoints.length)];
    return super.createConnection({ ...options, port }, done);
  }
}

async function certificates(): Promise<SecretVolume> {
  const volume = await SecretVolume.create();
  await volume.write(issue());
  return volume;
}

test("a replica that shuts down under load fails no request", async () => {
  const volume = await certificates();
  const leaving = await startWebhook({ certDir: volume.directory, drain: { minMs: 400, maxMs: 50_000 } });
  const staying = await startWebhook({ certDir: volume.directory });
  const service = new ServiceAgent([leaving.port, staying.port]);
  const body = reviewText();
  const load = startLoad(8, () => post({ port: leaving.port, body, agent: service }));
  await load.responses(50);

  // In the same process as the timer of the drain, so that it fires first on a slow machine, too.
  setTimeout(() => service.endpoints.shift(), 200);
  const ended = leaving.shutdown();
  expect((await health(leaving.healthPort, "/readyz")).text).toContain("shutting down");
  await ended;
  await load.responses(50);

  const { failures } = await load.stop();
  expect(failures).toEqual([]);
  service.destroy();
  await staying.shutdown();
  await volume.remove();
});

test("an idle connection is not closed: its next request is answered, with Connection: close", async () => {
  const volume = await certificates();
  const webhook = await startWebhook({ certDir: volume.directory, drain: { minMs: 0, maxMs: 10_000 } });
  const agent = new Agent({ keepAlive: true });
  const send = () => post({ port: webhook.port, body: reviewText(), agent });
  expect((await send()).headers["connection"]).toBe("keep-alive");

  const ended = webhook.shutdown();
  // The minimum of the drain has passed: only the connection keeps the server.
  expect((await health(webhook.healthPort, "/readyz")).text).toContain("shutting down");
  const last = await send();
  expect(last.status).toBe(200);
  expect(last.headers["connection"]).toBe("close");
  await ended;
  await expect(send()).rejects.toThrow(/ECONNREFUSED/);
  agent.destroy();
  await volume.remove();
});

test("a client that never closes its connection does not keep the webhook running", async () => {
  const volume = await certificates();
  const webhook = await startWebhook({ certDir: volume.directory, drain: { minMs: 0, maxMs: 300 } });
  const agent = new Agent({ keepAlive: true });
  await post({ port: webhook.port, body: reviewText(), agent });
  await webhook.shutdown();
  agent.destroy();
  await volume.remove();
});

test("a request whose body is incomplete when the server closes is answered", async () => {
  const volume = await certificates();
  const webhook = await startWebhook({ certDir: volume.directory, drain: { minMs: 0, maxMs: 200 } });
  const body = reviewText();
  const socket = connect({ host: "127.0.0.1", port: webhook.port, ca: authority.cert });
  socket.write(
    `POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  socket.write(body.slice(0, 10));
  await eventually(async () => (await requestsInFlight(webhook)) === 1);
  const ended = webhook.shutdown();
  await eventually(() => expect(post({ port: webhook.port, body })).rejects.toThrow(/ECONNREFUSED/));
  socket.write(body.slice(10));
  const answer = await new Promise<string>((resolve) => socket.once("data", (data) => resolve(data.toString())));
  expect(answer).toMatch(/^HTTP\/1\.1 200/);
  await ended;
  await volume.remove();
});

test("a second shutdown waits for the first", async () => {
  const volume = await certificates();
  const webhook = await startWebhook({ certDir: volume.directory });
  expect(webhook.shutdown()).toBe(webhook.shutdown());
  await webhook.shutdown();
  await volume.remove();
});

test("a port in use is an error that names the port, and leaves nothing running", async () => {
  const volume = await certificates();
  const first = await startWebhook({ certDir: volume.directory });
  for (const taken of [{ port: first.port }, { healthPort: first.port }]) {
    const error = startWebhook({ certDir: volume.directory, ...taken });
    await expect(error).rejects.toThrow(`cannot listen on port ${first.port}`);
  }
  await first.shutdown();
  await volume.remove();
});

async function requestsInFlight({ registry }: TestWebhook): Promise<number> {
  const metric = await registry.getSingleMetric("reprise_webhook_requests_in_flight")?.get();
  return metric?.values[0]?.value ?? Number.NaN;
}
