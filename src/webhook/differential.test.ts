// Differential test: the webhook's patch, applied as the API server does, must give the output of `reprise inject`.
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import jsonPatch, { type Operation } from "fast-json-patch";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { BundledCli } from "../cli/testing.ts";
import type { JsonObject } from "../json/types.ts";
import { issue, post, responseOf, reviewText, SecretVolume, startWebhook, type TestWebhook } from "./testing.ts";

const shapes = globSync("test/golden/inject/*.in.yaml").map((file) => [basename(file, ".in.yaml"), file] as const);

let volume: SecretVolume;
let webhook: TestWebhook;
let cli: BundledCli;

beforeAll(async () => {
  volume = await SecretVolume.create();
  await volume.write(issue());
  [webhook, cli] = await Promise.all([startWebhook({ certDir: volume.directory }), BundledCli.build()]);
});

afterAll(async () => {
  await webhook.shutdown();
  await Promise.all([volume.remove(), cli.remove()]);
});

test("there are golden files to compare", () => {
  expect(shapes.length).toBeGreaterThan(10);
});

test.each(shapes)("%s: the webhook's patch and reprise inject give the same JobSet", async (_, file) => {
  const text = readFileSync(file, "utf8");
  const plain = parse(text) as JsonObject;
  const { patch } = responseOf(await post({ port: webhook.port, body: reviewText({ object: plain }) }));
  const operations = JSON.parse(Buffer.from(patch ?? "", "base64").toString()) as Operation[];
  const patched: unknown = jsonPatch.applyPatch(plain, operations, true, false).newDocument;
  const printed = await cli.run(["inject", "-f", "-", "-o", "json", "--namespace", "team"], text);
  expect(printed.code, printed.stderr).toBe(0);
  expect(patched).toEqual(JSON.parse(printed.stdout));
});
