import { afterEach, expect, test } from "vitest";
import { eventually } from "../../test/eventually.ts";
import type { Cores } from "./admission.ts";
import { cores, health, issue, post, responseOf, reviewText, SecretVolume, startWebhook } from "./testing.ts";

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function start(asked: Cores, hasCertificate = true) {
  const volume = await SecretVolume.create();
  cleanUps.push(() => volume.remove());
  if (hasCertificate) await volume.write(issue());
  const webhook = await startWebhook({ certDir: volume.directory, cores: asked, certificatePollMs: 50 });
  cleanUps.push(() => webhook.shutdown());
  return { webhook, volume };
}

function counting(): { asked: Cores; calls: { inject: number; validate: number } } {
  const calls = { inject: 0, validate: 0 };
  const asked: Cores = {
    ...cores,
    inject(request) {
      calls.inject++;
      return cores.inject(request);
    },
    validate(request) {
      calls.validate++;
      return cores.validate(request);
    },
  };
  return { asked, calls };
}

test("a ready webhook has already answered sample reviews, none of them counted or logged", async () => {
  const { asked, calls } = counting();
  const { webhook } = await start(asked);
  expect((await health(webhook.healthPort, "/readyz")).status).toBe(200);
  expect(calls.inject).toBeGreaterThan(1);
  expect(calls.validate).toBeGreaterThan(1);
  const counters = await webhook.registry.getSingleMetric("reprise_webhook_requests_total")?.get();
  expect(counters?.values.filter(({ value }) => value > 0)).toEqual([]);
  expect(webhook.logLines.filter(({ msg }) => msg === "admission")).toEqual([]);
});

test("a webhook whose certificate appears later warms up then, and only once", async () => {
  const { asked, calls } = counting();
  const { webhook, volume } = await start(asked, false);
  expect(calls).toEqual({ inject: 0, validate: 0 });
  await volume.write(issue());
  await eventually(async () => (await health(webhook.healthPort, "/readyz")).status === 200);
  const afterFirst = { ...calls };
  expect(afterFirst.inject).toBeGreaterThan(1);
  await volume.write(issue());
  await eventually(() => webhook.logLines.filter(({ msg }) => msg === "certificate loaded").length === 2);
  expect(calls).toEqual(afterFirst);
});

test("a warm-up that fails is logged and does not keep the webhook from serving", async () => {
  let isFirst = true;
  const { webhook } = await start({
    ...cores,
    inject(request) {
      if (isFirst) {
        isFirst = false;
        throw new Error("not yet");
      }
      return cores.inject(request);
    },
  });
  expect(webhook.logLines.map(({ msg }) => msg)).toContain("warm-up failed, the first requests will be slow");
  expect((await health(webhook.healthPort, "/readyz")).status).toBe(200);
  expect(responseOf(await post({ port: webhook.port, body: reviewText() })).allowed).toBe(true);
});
