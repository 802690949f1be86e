import { chmodSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { expect, test } from "vitest";
import { freePort } from "../../test/free-port.ts";
import { RepriseError } from "../errors.ts";
import { ApiError } from "./api-error.ts";
import { connect, MERGE_PATCH } from "./client.ts";
import { json, scriptedServer } from "./testing/scripted-server.ts";

test("sequential requests, raw and typed, share one connection", async () => {
  await using server = await scriptedServer((_request, response) => json(response, 200, { items: [] }));
  for (let i = 0; i < 10; i++) {
    await server.client.request("GET", "/api/v1/pods");
    await server.client.api(CoreV1Api).listNamespacedPod({ namespace: "team" });
  }
  expect(server.requests).toHaveLength(20);
  expect(server.connections).toBe(1);
});

test("an open watch does not delay other requests", async () => {
  await using server = await scriptedServer((_request, response, url) => {
    if (url.searchParams.has("watch")) response.writeHead(200).write("{}\n");
    else json(response, 200, {});
  });
  const abort = new AbortController();
  const watch = await server.client.stream("/api/v1/pods", { query: { watch: true }, signal: abort.signal });
  // The watch never ends, so a request that waited for it would not return.
  await Promise.all([1, 2, 3].map(() => server.client.request("GET", "/api/v1/nodes")));
  abort.abort();
  await expect(watch.toArray()).rejects.toThrow();
});

test("every request carries the user agent, the credentials and the requested content type", async () => {
  const seen: Record<string, unknown>[] = [];
  await using server = await scriptedServer((request, response) => {
    seen.push({
      agent: request.headers["user-agent"],
      authorization: request.headers.authorization,
      type: request.headers["content-type"],
      url: request.url,
    });
    json(response, 200, {});
  });
  await server.client.request("PATCH", "/x", {
    body: { a: 1 },
    contentType: MERGE_PATCH,
    query: { fieldManager: "r d" },
  });
  await server.client.api(CoreV1Api).createNamespace({ body: { metadata: { name: "n" } } });
  const agent = expect.stringMatching(/^reprise\/\d+\.\d+\.\d+/);
  expect(seen).toEqual([
    { agent, authorization: "Bearer secret", type: "application/merge-patch+json", url: "/x?fieldManager=r+d" },
    { agent, authorization: "Bearer secret", type: "application/json", url: "/api/v1/namespaces" },
  ]);
});

test("an ApiError carries status, reason, retry delay, method and path, for raw and typed calls alike", async () => {
  const status = { kind: "Status", reason: "TooManyRequests", message: "slow down", details: { retryAfterSeconds: 7 } };
  await using server = await scriptedServer((_request, response) => json(response, 429, status));
  const expected = { status: 429, reason: "TooManyRequests", retryAfterSeconds: 7, method: "GET" };
  const raw = server.client.request("GET", "/api/v1/pods", { query: { limit: 1 } });
  await expect(raw).rejects.toMatchObject({ ...expected, path: "/api/v1/pods" });
  const typed = server.client.api(CoreV1Api).readNamespace({ name: "n" });
  await expect(typed).rejects.toMatchObject({ ...expected, path: "/api/v1/namespaces/n" });
  await expect(typed).rejects.toBeInstanceOf(ApiError);
});

test("a response that is no Status is quoted in one line", async () => {
  await using server = await scriptedServer((_request, response) => {
    response.writeHead(503, { "retry-after": "3" }).end("<html>\n  bad\n  gateway</html>");
  });
  const refused = server.client.request("GET", "/x");
  await expect(refused).rejects.toMatchObject({ status: 503, reason: "", retryAfterSeconds: 3 });
  await expect(refused).rejects.toThrow("<html> bad gateway</html>");
});

test("a server that does not listen is named in the error, with its cause", async () => {
  const port = await freePort();
  await using server = await scriptedServer(() => {});
  const kubeconfig = join(server.folder, "refused");
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      "current-context": "x",
      clusters: [{ name: "c", cluster: { server: `https://127.0.0.1:${port}` } }],
      users: [{ name: "u", user: {} }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    }),
  );
  const refused = connect({ kubeconfig }).request("GET", "/version");
  await expect(refused).rejects.toMatchObject({ code: "API_UNREACHABLE" });
  await expect(refused).rejects.toThrow(`cannot reach API server https://127.0.0.1:${port}`);
  await expect(refused).rejects.toThrow("ECONNREFUSED");
});

test("a 401 tells the user to renew the credentials", async () => {
  await using server = await scriptedServer((_request, response) => json(response, 401, { kind: "Status" }));
  const refused = server.client.request("GET", "/api");
  await expect(refused).rejects.toMatchObject({ code: "API_UNAUTHORIZED", status: 401 });
  await expect(refused).rejects.toThrow(`${server.url} rejected the credentials`);
});

test("an abort by the caller is reported as the caller's own reason", async () => {
  await using server = await scriptedServer(() => {});
  const reason = new Error("no longer leader");
  const abort = new AbortController();
  const pending = server.client.request("GET", "/x", { signal: abort.signal });
  abort.abort(reason);
  await expect(pending).rejects.toBe(reason);
});

test("a rotated token is used by the next request; while the file is missing, the last token is used", async () => {
  const tokens: unknown[] = [];
  await using server = await scriptedServer((request, response) => {
    tokens.push(request.headers.authorization);
    json(response, 200, {});
  });
  writeFileSync(join(server.folder, "token"), "one\n");
  // Relative to the kubeconfig, as kubectl reads it; and it wins over the static token.
  const client = connect({ kubeconfig: server.kubeconfig({ tokenFile: "token", token: "static" }) });
  await client.request("GET", "/x");
  writeFileSync(join(server.folder, "next"), "two\n");
  renameSync(join(server.folder, "next"), join(server.folder, "token"));
  await client.request("GET", "/x");
  rmSync(join(server.folder, "token"));
  await client.request("GET", "/x");
  expect(tokens).toEqual(["Bearer one", "Bearer two", "Bearer two"]);
  await client.close();
});

test("an exec plugin provides the token, and its failure names the user", async () => {
  const tokens: unknown[] = [];
  await using server = await scriptedServer((request, response) => {
    tokens.push(request.headers.authorization);
    json(response, 200, {});
  });
  const plugin = join(server.folder, "plugin");
  writeFileSync(plugin, `#!/bin/sh\necho '{"kind":"ExecCredential","status":{"token":"from-exec"}}'\n`);
  chmodSync(plugin, 0o755);
  const exec = (command: string) => ({ exec: { apiVersion: "client.authentication.k8s.io/v1", command } });
  const client = connect({ kubeconfig: server.kubeconfig(exec(plugin)) });
  await client.request("GET", "/x");
  expect(tokens).toEqual(["Bearer from-exec"]);
  await client.close();

  const broken = connect({ kubeconfig: server.kubeconfig(exec(join(server.folder, "gone"))) });
  const refused = broken.request("GET", "/x");
  await expect(refused).rejects.toBeInstanceOf(RepriseError);
  await expect(refused).rejects.toThrow("credentials of user u");
});
