// Faults that a real API server cannot be made to show, from a TLS server with scripted responses. Runs under bun,
// whose sockets the client uses: see under-bun.test.ts.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createAuthority } from "../../test/cluster/pki.ts";
import { eventually } from "../../test/eventually.ts";
import { type ApiRequest, HttpClient } from "./http-client.ts";
import { RequestError } from "./request-error.ts";

const authority = createAuthority("scripted API server");
const stops: (() => void)[] = [];

afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

interface Scripted {
  readonly client: HttpClient;
  readonly folder: string;
  /** TCP connections accepted so far. */
  connections(): number;
  /** Connections that are open now. */
  open(): Promise<number>;
}

async function scripted(answer: RequestListener, ipAddresses = ["127.0.0.1"]): Promise<Scripted> {
  const server = createServer(authority.issue({ commonName: "server", ipAddresses }), answer);
  let connections = 0;
  server.on("connection", () => connections++);
  stops.push(() => server.closeAllConnections());
  const open = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
  return { ...(await serving(server)), connections: () => connections, open };
}

async function serving(server: Server): Promise<Pick<Scripted, "client" | "folder">> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const folder = mkdtempSync(join(tmpdir(), "reprise-agent-"));
  writeFileSync(join(folder, "ca.crt"), authority.cert);
  writeFileSync(join(folder, "token"), "first\n");
  stops.push(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { client: new HttpClient({ host: "127.0.0.1", port: address.port }, folder), folder };
}

async function text(client: HttpClient, request: Partial<ApiRequest> = {}): Promise<string> {
  const chunks: Uint8Array[] = [];
  const body = await client.open({ method: "GET", path: "/", idleTimeoutMs: 5_000, ...request });
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe("the agent's HTTP client", () => {
  it("reads the token for every request, and keeps the last one while the file is missing", async () => {
    const { client, folder, connections } = await scripted((request, response) => {
      response.end(request.headers.authorization);
    });
    expect(await text(client)).toBe("Bearer first");
    writeFileSync(join(folder, "token"), "second");
    expect(await text(client)).toBe("Bearer second");
    rmSync(join(folder, "token"));
    expect(await text(client)).toBe("Bearer second");
    expect(connections()).toBe(1);
  });

  it("keeps one of two connections that were in use at the same time", async () => {
    const requested = Promise.withResolvers<void>();
    let release = () => {};
    const { client, connections, open } = await scripted((request, response) => {
      if (request.url !== "/slow") return void response.end("quick");
      release = () => void response.end("slow");
      requested.resolve();
    });
    const slow = text(client, { path: "/slow" });
    await requested.promise;
    expect(await text(client)).toBe("quick");
    expect(await text(client)).toBe("quick");
    release();
    expect(await slow).toBe("slow");
    await eventually(async () => expect([connections(), await open()]).toEqual([2, 1]));
    expect(await text(client)).toBe("quick");
    expect(connections()).toBe(2);
  });

  it("resumes the TLS session for another connection, but not with another CA", async () => {
    const resumed: boolean[] = [];
    const server = createTlsServer(authority.issue({ commonName: "server", ipAddresses: ["127.0.0.1"] }), (socket) => {
      resumed.push(socket.isSessionReused());
      socket.on("error", () => {});
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"));
    });
    const { client, folder } = await serving(server);
    expect([await text(client), await text(client), await text(client)]).toEqual(["ok", "ok", "ok"]);
    expect(resumed).toEqual([false, true, true]);
    writeFileSync(join(folder, "ca.crt"), createAuthority("another authority").cert);
    await expect(text(client)).rejects.toThrow(/SIGNATURE|UNABLE_TO_VERIFY/);
    expect(resumed.filter((each) => each)).toHaveLength(2);
  });

  it("ends its open requests when it is closed", async () => {
    const { client } = await scripted((_request, response) => {
      response.writeHead(200);
      response.write("first");
    });
    const body = await client.open({ method: "GET", path: "/" });
    expect(String(Buffer.from((await body.next()).value ?? ""))).toBe("first");
    const next = body.next();
    client.close();
    await expect(next).rejects.toThrow();
  });

  it("trusts a rotated CA, and no other", async () => {
    const { client, folder } = await scripted((_request, response) => void response.end("ok"));
    writeFileSync(join(folder, "ca.crt"), createAuthority("another authority").cert);
    await expect(text(client)).rejects.toThrow(/SIGNATURE|UNABLE_TO_VERIFY/);
    writeFileSync(join(folder, "ca.crt"), authority.cert);
    expect(await text(client)).toBe("ok");
  });

  it("sends no token to a server whose certificate is for another address", async () => {
    const answer = vi.fn();
    const { client } = await scripted(answer, ["127.0.0.2"]);
    await expect(text(client)).rejects.toThrow("ERR_TLS_CERT_ALTNAME_INVALID");
    expect(answer).not.toHaveBeenCalled();
  });

  it("fails if there never was a token", async () => {
    const { client, folder } = await scripted((_request, response) => void response.end());
    rmSync(join(folder, "token"));
    await expect(text(client)).rejects.toThrow("cannot read");
  });

  it("reports the message of a Status and its Retry-After", async () => {
    const { client } = await scripted((_request, response) => {
      response
        .writeHead(429, { "retry-after": "3" })
        .end(JSON.stringify({ kind: "Status", message: "too many requests" }));
    });
    const failure = await text(client).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RequestError);
    expect(failure).toMatchObject({ message: "429 too many requests", status: 429, retryAfterMs: 3_000 });
  });

  it("reports the error page of a proxy", async () => {
    const { client } = await scripted((_request, response) => void response.writeHead(502).end("<h1>Bad Gateway"));
    await expect(text(client)).rejects.toMatchObject({ message: "502 <h1>Bad Gateway", status: 502 });
  });

  it("times out when the server never responds", async () => {
    const { client } = await scripted(() => {});
    await expect(text(client, { idleTimeoutMs: 200 })).rejects.toThrow("no response for 0.2 s");
  });

  it("times out when a body stalls without ending, as a half-open watch does", async () => {
    const { client } = await scripted((_request, response) => void response.writeHead(200).write("{}\n"));
    await expect(text(client, { idleTimeoutMs: 200 })).rejects.toThrow("no response for 0.2 s");
  });

  it("accepts a body that takes longer than the timeout while chunks keep arriving", async () => {
    const { client } = await scripted((_request, response) => {
      let left = 12;
      const timer = setInterval(() => {
        if (left-- > 0) return void response.write(".");
        clearInterval(timer);
        response.end();
      }, 100);
    });
    expect(await text(client, { idleTimeoutMs: 1_000 })).toBe(".".repeat(12));
  });

  it("reports a body that is cut off", async () => {
    const { client } = await scripted((_request, response) => {
      response.writeHead(200).write("{}\n", () => response.destroy());
    });
    await expect(text(client)).rejects.toBeInstanceOf(RequestError);
  });
});
