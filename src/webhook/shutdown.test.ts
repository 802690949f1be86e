import { Agent, type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "node:tls";
import { expect, test, vi } from "vitest";
import { authority, health, issue, post, reviewText, SecretVolume, startLoad, startWebhook } from "./testing.ts";

// Milliseconds on an idle machine; the timeout is for one that builds something else at the same time.
vi.setConfig({ testTimeout: 120_000 });

/**
 * Connections to a Service as the API server makes them: pooled under the Service's name, whichever replica is behind
 * each, and a new one goes to any replica that is still listed. A replica leaves the list some time after it says so.
 */
class ServiceAgent extends Agent {
  readonly endpoints: number[];

  constructor(endpoints: number[]) {
    // In turn, so that none is left idle for the drain to wait for; few, so that a busy machine does not open hundreds.
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
  const leaving = await startWebhook({ certDir: volume.directory, drain: { minMs: 1_000, maxMs: 50_000 } });
  const staying = await startWebhook({ certDir: volume.directory });
  const service = new ServiceAgent([leaving.port, staying.port]);
  const body = reviewText();
  const stop = startLoad(50, () => post({ port: leaving.port, body, agent: service }));
  await sleep(500);

  // A timer of the same process as the drain's, so that on a slow machine it still comes first.
  setTimeout(() => service.endpoints.shift(), 400);
  const ended = leaving.shutdown();
  expect((await health(leaving.healthPort, "/readyz")).text).toContain("shutting down");
  await ended;
  await sleep(300);

  const { sent, failures } = await stop();
  expect(failures).toEqual([]);
  expect(sent).toBeGreaterThan(75);
  service.destroy();
  await staying.shutdown();
  await volume.remove();
});

test("an idle connection is never closed under the client: its next request is answered, with Connection: close", async () => {
  const volume = await certificates();
  const webhook = await startWebhook({ certDir: volume.directory, drain: { minMs: 0, maxMs: 10_000 } });
  const agent = new Agent({ keepAlive: true });
  const send = () => post({ port: webhook.port, body: reviewText(), agent });
  expect((await send()).headers["connection"]).toBe("keep-alive");

  const ended = webhook.shutdown();
  // Far longer than the minimum: the connection is what keeps the server.
  await sleep(500);
  const last = await send();
  expect(last.status).toBe(200);
  expect(last.headers["connection"]).toBe("close");
  await ended;
  await expect(send()).rejects.toThrow(/ECONNREFUSED/);
  agent.destroy();
  await volume.remove();
});

test("a client that holds its connection for ever does not keep the server longer than the maximum", async () => {
  const volume = await certificates();
  const webhook = await startWebhook({ certDir: volume.directory, drain: { minMs: 0, maxMs: 300 } });
  const agent = new Agent({ keepAlive: true });
  await post({ port: webhook.port, body: reviewText(), agent });
  const began = performance.now();
  await webhook.shutdown();
  expect(performance.now() - began).toBeGreaterThanOrEqual(300);
  expect(performance.now() - began).toBeLessThan(3_000);
  agent.destroy();
  await volume.remove();
});

test("a request whose body is still coming when the server closes is answered", async () => {
  const volume = await certificates();
  const webhook = await startWebhook({ certDir: volume.directory, drain: { minMs: 0, maxMs: 200 } });
  const body = reviewText();
  const socket = connect({ host: "127.0.0.1", port: webhook.port, ca: authority.cert });
  socket.write(
    `POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  socket.write(body.slice(0, 10));
  await sleep(100);
  const ended = webhook.shutdown();
  await sleep(500);
  socket.write(body.slice(10));
  const answer = await new Promise<string>((resolve) => socket.once("data", (data) => resolve(data.toString())));
  expect(answer).toMatch(/^HTTP\/1\.1 200/);
  await ended;
  await volume.remove();
});

test("shutting down twice waits for the one end", async () => {
  const volume = await certificates();
  const webhook = await startWebhook({ certDir: volume.directory });
  expect(webhook.shutdown()).toBe(webhook.shutdown());
  await webhook.shutdown();
  await volume.remove();
});

test("a port that is taken is an error that names it, and leaves nothing running", async () => {
  const volume = await certificates();
  const first = await startWebhook({ certDir: volume.directory });
  for (const taken of [{ port: first.port }, { healthPort: first.port }]) {
    const error = startWebhook({ certDir: volume.directory, ...taken });
    await expect(error).rejects.toThrow(`cannot listen on port ${first.port}`);
  }
  await first.shutdown();
  await volume.remove();
});
