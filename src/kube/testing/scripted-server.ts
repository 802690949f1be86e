// An HTTP server on loopback with scripted responses, for faults that a real API server cannot be made to show.

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type KubeClient } from "../client.ts";

export interface ScriptedServer extends AsyncDisposable {
  readonly url: string;
  /** Requests so far, as "METHOD path?query". */
  readonly requests: readonly string[];
  /** TCP connections accepted so far. */
  readonly connections: number;
  readonly folder: string;
  readonly client: KubeClient;
  /** Writes a kubeconfig for this server with the given user fields. */
  kubeconfig(user: Readonly<Record<string, unknown>>): string;
}

export async function scriptedServer(
  answer: (request: IncomingMessage, response: ServerResponse, url: URL) => void,
): Promise<ScriptedServer> {
  const requests: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(request, response, new URL(request.url ?? "/", "http://server"));
  });
  server.on("connection", () => {
    connections += 1;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const url = `http://127.0.0.1:${address.port}`;
  const folder = mkdtempSync(join(tmpdir(), "reprise-scripted-"));
  let files = 0;
  const kubeconfig = (user: Readonly<Record<string, unknown>>) => {
    const file = join(folder, `kubeconfig-${files++}.json`);
    const content = {
      kind: "Config",
      "current-context": "test",
      clusters: [{ name: "c", cluster: { server: url, "insecure-skip-tls-verify": true } }],
      users: [{ name: "u", user }],
      contexts: [{ name: "test", context: { cluster: "c", user: "u", namespace: "team" } }],
    };
    writeFileSync(file, JSON.stringify(content));
    return file;
  };
  const client = connect({ kubeconfig: kubeconfig({ token: "secret" }) });
  return {
    url,
    requests,
    folder,
    client,
    kubeconfig,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      server.closeAllConnections();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
