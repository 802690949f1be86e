import { X509Certificate } from "node:crypto";
import { Agent } from "node:https";
import { connect } from "node:tls";
import { expect, test } from "vitest";
import { eventually } from "../../test/eventually.ts";
import { authority, issue, post, reviewText, SecretVolume, startLoad, startWebhook } from "./testing.ts";

const ROTATIONS = 10;
const CLIENTS = 4;
/** Enough for every client to meet the new certificate. */
const RESPONSES_EACH = 2 * CLIENTS;

test("ten certificate rotations under load fail no request, on kept and on new connections", async () => {
  const volume = await SecretVolume.create();
  await volume.write(issue());
  const webhook = await startWebhook({ certDir: volume.directory, certificatePollMs: 60_000 });
  const { port } = webhook;
  const kept = new Agent({ keepAlive: true, maxSockets: 4 });
  const body = reviewText();
  const load = startLoad(CLIENTS, (client) => post({ port, body, agent: client % 2 === 0 ? kept : false }));

  for (let rotation = 0; rotation < ROTATIONS; rotation++) {
    const pair = issue();
    const { serialNumber } = new X509Certificate(pair.cert);
    await volume.write(pair);
    await eventually(async () => (await servedSerial(port)) === serialNumber);
    await load.responses(RESPONSES_EACH);
  }

  const { sent, failures } = await load.stop();
  expect(failures).toEqual([]);
  expect(sent).toBeGreaterThanOrEqual(ROTATIONS * RESPONSES_EACH);
  // The kept connections survived every rotation.
  const reused = Object.values(kept.freeSockets).flat();
  expect(reused.length).toBeGreaterThan(0);
  kept.destroy();
  await webhook.shutdown();
  await volume.remove();
});

function servedSerial(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, ca: authority.cert }, () => {
      resolve(socket.getPeerX509Certificate()?.serialNumber ?? "");
      socket.destroy();
    });
    socket.on("error", reject);
  });
}
