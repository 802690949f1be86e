import { connect } from "node:tls";
import fastJsonPatch from "fast-json-patch";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { eventually } from "../../test/eventually.ts";
import { BODY_LIMIT_BYTES } from "./body.ts";
import {
  authority,
  cores,
  health,
  injectedJobSet,
  issue,
  jobSet,
  type Post,
  post,
  responseOf,
  reviewText,
  SecretVolume,
  startWebhook,
  type TestWebhook,
} from "./testing.ts";

// Milliseconds on an idle machine. The timeout is for a busy one.
vi.setConfig({ testTimeout: 120_000 });

let volume: SecretVolume;
let webhook: TestWebhook;

beforeAll(async () => {
  volume = await SecretVolume.create();
  await volume.write(issue());
  webhook = await startWebhook({
    certDir: volume.directory,
    cores: {
      ...cores,
      inject: (request) => (request.namespace === "broken" ? defect() : cores.inject(request)),
      validate: (request) => (request.namespace === "broken" ? defect() : cores.validate(request)),
    },
  });
});

function defect(): never {
  throw new Error("a defect");
}

afterAll(async () => {
  await webhook.shutdown();
  await volume.remove();
});

const send = (request: Omit<Post, "port">) => post({ port: webhook.port, ...request });

async function requests(labels: Record<string, string>): Promise<number> {
  const metric = await webhook.registry.getSingleMetric("reprise_webhook_requests_total")?.get();
  const found = metric?.values.find((value) => Object.entries(labels).every(([k, v]) => value.labels[k] === v));
  return found?.value ?? Number.NaN;
}

test("a plain JobSet is answered with the patch that injects it", async () => {
  const answer = responseOf(await send({ body: reviewText() }));
  expect(answer).toMatchObject({ uid: "u-1", allowed: true, patchType: "JSONPatch" });
  const patch = JSON.parse(Buffer.from(answer.patch ?? "", "base64").toString());
  expect(fastJsonPatch.applyPatch(jobSet(), patch).newDocument).toEqual(injectedJobSet());
});

test("a JobSet that needs no change is answered without a patch", async () => {
  const object = injectedJobSet();
  const answer = responseOf(await send({ body: reviewText({ operation: "UPDATE", object, oldObject: object }) }));
  expect(answer).toEqual({ uid: "u-1", allowed: true, auditAnnotations: { outcome: "unchanged" } });
});

test("a skipped JobSet has its reason in the response, the metric and the log", async () => {
  const reason = "disabled-by-annotation";
  const before = await requests({ webhook: "mutate", outcome: "skipped", reason });
  const object = jobSet({ metadata: { name: "train", annotations: { "reprise.dev/inject": "false" } } });
  const answer = responseOf(await send({ body: reviewText({ uid: "u-skip", object }) }));
  expect(answer).toEqual({
    uid: "u-skip",
    allowed: true,
    auditAnnotations: { outcome: "skipped", "skip-reason": reason },
  });
  expect(await requests({ webhook: "mutate", outcome: "skipped", reason })).toBe(before + 1);
  const line = webhook.logLines.find(({ uid }) => uid === "u-skip");
  expect(line).toMatchObject({ level: 20, reason, namespace: "team", name: "train" });
});

test("the log never contains the object", async () => {
  const body = reviewText({ uid: "u-secret" });
  expect(body).toContain("hunter2");
  await send({ body });
  expect(webhook.logLines.find(({ uid }) => uid === "u-secret")).toMatchObject({ level: 30, outcome: "injected" });
  expect(JSON.stringify(webhook.logLines)).not.toContain("hunter2");
});

test("a rejection has the form of the API server's own validation errors", async () => {
  const object = jobSet({ metadata: { name: "train", annotations: { "reprise.dev/inject": "yes" } } });
  const answer = responseOf(await send({ body: reviewText({ object }) }));
  expect(answer.allowed).toBe(false);
  const field = "metadata.annotations[reprise.dev/inject]";
  expect(answer.status).toEqual({
    status: "Failure",
    code: 422,
    reason: "Invalid",
    message: expect.stringMatching(/^metadata\.annotations\[reprise\.dev\/inject\]: .* \[toggle\]$/),
    details: {
      group: "jobset.x-k8s.io",
      kind: "JobSet",
      name: "train",
      causes: [{ reason: "FieldValueInvalid", field, message: expect.stringContaining("[toggle]") }],
    },
  });
});

test("/validate allows an injected JobSet, and denies one that another webhook has changed since", async () => {
  const injected = responseOf(await send({ path: "/validate", body: reviewText({ object: injectedJobSet() }) }));
  expect(injected).toMatchObject({ allowed: true, auditAnnotations: { outcome: "allowed" } });
  const text = JSON.stringify(injectedJobSet()).replace(
    '"initContainers":[',
    '"initContainers":[{"name":"x","image":"i"},',
  );
  const broken = responseOf(await send({ path: "/validate", body: reviewText({ object: JSON.parse(text) }) }));
  expect(broken).toMatchObject({ allowed: false, status: { code: 422 }, auditAnnotations: { outcome: "refused" } });
});

test("/validate allows a JobSet that injection missed, with a warning: injection fails open", async () => {
  const answer = responseOf(await send({ path: "/validate", body: reviewText() }));
  expect(answer).toMatchObject({
    allowed: true,
    warnings: expect.arrayContaining([expect.stringContaining("opted in but not injected")]),
  });
});

test.each([
  [
    "DELETE, where the object is null",
    { operation: "DELETE", object: null, oldObject: jobSet() },
    "operation-not-handled",
  ],
  ["CONNECT", { operation: "CONNECT", object: {} }, "operation-not-handled"],
  ["an object that is null", { object: null }, "not-a-jobset"],
  ["an object that is a list", { object: [1, 2] }, "not-a-jobset"],
  ["an object that is text", { object: "JobSet" }, "not-a-jobset"],
] as const)("both webhooks allow %s", async (_what, request, reason) => {
  for (const path of ["/mutate", "/validate"]) {
    const answer = await send({ path, body: reviewText(JSON.parse(JSON.stringify(request))) });
    expect(answer.status).toBe(200);
    expect(responseOf(answer)).toMatchObject({
      uid: "u-1",
      allowed: true,
      auditAnnotations: { "skip-reason": reason },
    });
  }
});

test.each<[string, Omit<Post, "port">, number, RegExp]>([
  ["an empty body", { body: "" }, 400, /not valid JSON/],
  ["no body and no content type", { headers: { "content-type": "" } }, 415, /application\/json/],
  ["truncated JSON", { body: reviewText().slice(0, 80) }, 400, /not valid JSON/],
  ["JSON that is not an object", { body: "[]" }, 400, /not an AdmissionReview/],
  ["the number 7", { body: "7" }, 400, /not an AdmissionReview/],
  ["null", { body: "null" }, 400, /not an AdmissionReview/],
  ["bytes that are not text", { body: Buffer.from([0xff, 0xfe, 0x00, 0x9f]) }, 400, /not valid JSON/],
  ["YAML by content type", { body: "a: 1", headers: { "content-type": "application/yaml" } }, 415, /application\/json/],
  ["a content type that is none", { body: "{}", headers: { "content-type": "///" } }, 415, /application\/json/],
  ["a review without request", { body: reviewText({}, { request: null }) }, 400, /request: /],
  ["a review without uid", { body: reviewText({ uid: "" }) }, 400, /request\.uid: /],
  ["a uid that is a number", { body: reviewText({ uid: 7 }) }, 400, /request\.uid: /],
  ["100,000 nested lists", { body: "[".repeat(100_000) }, 400, /not valid JSON/],
])("%s is a 4xx that names what was expected", async (_what, request, status, message) => {
  for (const path of ["/mutate", "/validate"]) {
    const answer = await send({ path, ...request });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ kind: "Status", status: "Failure", code: status });
    expect(JSON.parse(answer.text).message).toMatch(message);
  }
});

test.each([
  ["of another version", reviewText({}, { apiVersion: "admission.k8s.io/v1beta1" }), /apiVersion: /],
  ["of another kind", reviewText({}, { kind: "Pod" }), /kind: /],
  ["with an operation that does not exist", reviewText({ operation: "EAT" }), /request\.operation: /],
])("a review %s is a 400 with its own UID", async (_what, body, message) => {
  const answer = await send({ body });
  expect(answer.status).toBe(400);
  expect(responseOf(answer)).toMatchObject({ uid: "u-1", allowed: false, status: { code: 400, reason: "BadRequest" } });
  expect(responseOf(answer).status?.message).toMatch(message);
});

test("a body at the limit is read, and one byte more is rejected with its size", async () => {
  const padded = (size: number) => {
    const text = reviewText();
    return text + " ".repeat(size - text.length);
  };
  expect((await send({ body: padded(BODY_LIMIT_BYTES) })).status).toBe(200);
  const answer = await send({ body: padded(BODY_LIMIT_BYTES + 1) });
  expect(answer.status).toBe(413);
  expect(JSON.parse(answer.text).message).toContain(`${BODY_LIMIT_BYTES + 1} bytes`);
});

test("a body far above the limit, without a length, is answered and not reset", async () => {
  const body = Buffer.alloc(4 * BODY_LIMIT_BYTES, 0x20);
  expect((await send({ body, headers: { "transfer-encoding": "chunked" } })).status).toBe(413);
});

test("a client that disconnects in the middle of its body leaves nothing in flight", async () => {
  const before = await requests({ webhook: "mutate", outcome: "unreadable", reason: "truncated" });
  const socket = connect({ host: "127.0.0.1", port: webhook.port, ca: authority.cert });
  socket.write("POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{");
  await eventually(async () => (await gauge("reprise_webhook_requests_in_flight")) === 1);
  socket.destroy();
  await eventually(async () => (await gauge("reprise_webhook_requests_in_flight")) === 0);
  expect(await requests({ webhook: "mutate", outcome: "unreadable", reason: "truncated" })).toBe(before + 1);
});

test("other paths and methods are a 4xx with a message", async () => {
  for (const request of [{ path: "/" }, { path: "/mutate/x" }, { method: "GET" }, { path: "/%", body: "{}" }]) {
    const answer = await send(request);
    expect([400, 404]).toContain(answer.status);
    expect(answer.text).toContain('"message"');
  }
});

test("a bug in the injection core admits the JobSet unchanged, with a warning", async () => {
  const answer = await send({ body: reviewText({ uid: "u-defect", namespace: "broken" }) });
  expect(answer.status).toBe(200);
  expect(responseOf(answer)).toMatchObject({ uid: "u-defect", allowed: true, auditAnnotations: { outcome: "failed" } });
  expect(responseOf(answer).patch).toBeUndefined();
  expect(responseOf(answer).warnings?.[0]).toMatch(/^reprise: internal error/);
  expect(await requests({ webhook: "mutate", operation: "CREATE", outcome: "failed" })).toBe(1);
  const line = webhook.logLines.find(({ uid }) => uid === "u-defect");
  expect(line).toMatchObject({ level: 50, err: { message: "a defect" } });
});

test("a bug in the validation core is a 500, so that failurePolicy decides", async () => {
  const answer = await send({ path: "/validate", body: reviewText({ namespace: "broken" }) });
  expect(answer.status).toBe(500);
  expect(JSON.parse(answer.text)).toMatchObject({ kind: "Status", reason: "InternalError" });
  expect(answer.text).not.toContain("a defect");
  expect(await requests({ webhook: "validate", operation: "CREATE", outcome: "failed" })).toBe(1);
});

test.each(["TLSv1.2", "TLSv1.3"] as const)("%s is supported", async (version) => {
  expect(await protocolOf({ minVersion: version, maxVersion: version })).toBe(version);
});

test("the newest TLS version is preferred, and versions below 1.2 are rejected", async () => {
  expect(await protocolOf({})).toBe("TLSv1.3");
  await expect(protocolOf({ minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL@SECLEVEL=0" })).rejects.toThrow();
});

test("only HTTP/1.1 is offered", async () => {
  const socket = connect({
    host: "127.0.0.1",
    port: webhook.port,
    ca: authority.cert,
    ALPNProtocols: ["h2", "http/1.1"],
  });
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  expect(socket.alpnProtocol).toBe("http/1.1");
  socket.destroy();
});

test("every series exists before its first request", async () => {
  const { text } = await health(webhook.healthPort, "/metrics");
  expect(text).toContain(
    'reprise_webhook_requests_total{webhook="mutate",operation="UPDATE",outcome="skipped",reason="finished"} 0',
  );
  expect(text).toContain('reprise_webhook_request_duration_seconds_bucket{le="0.001",webhook="validate"}');
});

async function gauge(name: string): Promise<number> {
  const metric = await webhook.registry.getSingleMetric(name)?.get();
  return metric?.values[0]?.value ?? Number.NaN;
}

function protocolOf(options: object): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port: webhook.port, ca: authority.cert, ...options }, () => {
      resolve(socket.getProtocol());
      socket.destroy();
    });
    socket.on("error", reject);
  });
}
