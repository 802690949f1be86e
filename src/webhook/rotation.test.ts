import { X509Certificate } from "node:crypto";
import { Agent } from "node:https";
import { connect } from "node:tls";
import { expect, test } from "vitest";
import { authority, eventually, issue, post, reviewText, SecretVolume, startLoad, startWebhook } from "./testing.ts";

const ROTATIONS = 10;
const PER_SECOND = 50;

test("ten certificate rotations under 50 requests/s fail no request, on kept and on fresh connections", async () => {
  const volume = await SecretVolume.create();
  await volume.write(issue());
  const webhook = await startWebhook({ certDir: volume.directory, certificatePollMs: 60_000 });
  const { port } = webhook;
  const kept = new Agent({ keepAlive: true, maxSockets: 4 });
  const body = reviewText();
  const stop = startLoad(PER_SECOND, (index) => post({ port, body, agent: index % 2 === 0 ? kept : false }));

  for (let rotation = 0; rotation < ROTATIONS; rotation++) {
    const pair = issue();
    const { serialNumber } = new X509Certificate(pair.cert);
    await volume.write(pair);
    await eventually(async () => (await servedSerial(port)) === serialNumber);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }

  const { sent, failures } = await stop();
  expect(failures).toEqual([]);
  expect(sent).toBeGreaterThan(ROTATIONS * 0.2 * PER_SECOND);
  // The kept connections outlived every rotation: none had to be opened again.
  const reused = Object.values(kept.freeSockets).flat();
  expect(reused.length).toBeGreaterThan(0);
  kept.destroy();
  await webhook.shutdown();
  await volume.remove();
}, 60_000);

function servedSerial(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, ca: authority.cert }, () => {
      resolve(socket.getPeerX509Certificate()?.serialNumber ?? "");
      socket.destroy();
    });
    socket.on("error", reject);
  });
}
