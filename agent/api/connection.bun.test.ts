// Faults that a real API server cannot be made to show, from a TLS server whose answers are scripted. Runs under bun, whose
// sockets these are: see under-bun.test.ts.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createAuthority } from "../../test/cluster/pki.ts";
import { ApiTrouble } from "./api-trouble.ts";
import { type ApiRequest, Connection } from "./connection.ts";

const authority = createAuthority("scripted API server");
const stops: (() => void)[] = [];

afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

interface Scripted {
  readonly connection: Connection;
  readonly folder: string;
  /** TCP connections accepted so far. */
  connections(): number;
  /** Those that are open now. */
  open(): Promise<number>;
}

async function scripted(answer: RequestListener, ipAddresses = ["127.0.0.1"]): Promise<Scripted> {
  const pair = authority.issue({ commonName: "server", ipAddresses });
  const server = createServer(pair, answer).listen(0, "127.0.0.1");
  let connections = 0;
  server.on("connection", () => connections++);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const folder = mkdtempSync(join(tmpdir(), "reprise-agent-"));
  writeFileSync(join(folder, "ca.crt"), authority.cert);
  writeFileSync(join(folder, "token"), "first\n");
  stops.push(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const connection = new Connection({ host: "127.0.0.1", port: address.port }, folder);
  const open = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
  return { connection, folder, connections: () => connections, open };
}

async function text(connection: Connection, request: Partial<ApiRequest> = {}): Promise<string> {
  const chunks: Uint8Array[] = [];
  const body = await connection.open({ method: "GET", path: "/", quietMs: 5_000, ...request });
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe("a connection to the API server", () => {
  it("reads the token anew for every request, and keeps the last one while the file is gone", async () => {
    const { connection, folder, connections } = await scripted((request, response) => {
      response.end(request.headers.authorization);
    });
    expect(await text(connection)).toBe("Bearer first");
    writeFileSync(join(folder, "token"), "second");
    expect(await text(connection)).toBe("Bearer second");
    rmSync(join(folder, "token"));
    expect(await text(connection)).toBe("Bearer second");
    expect(connections()).toBe(1);
  });

  it("keeps one connection of two that were in use at the same time", async () => {
    let release = () => {};
    const { connection, connections, open } = await scripted((request, response) => {
      if (request.url !== "/slow") return void response.end("quick");
      release = () => void response.end("slow");
    });
    const slow = text(connection, { path: "/slow" });
    await sleep(100);
    expect(await text(connection)).toBe("quick");
    expect(await text(connection)).toBe("quick");
    release();
    expect(await slow).toBe("slow");
    await sleep(100);
    expect([connections(), await open()]).toEqual([2, 1]);
    expect(await text(connection)).toBe("quick");
    expect(connections()).toBe(2);
  });

  it("trusts a CA that was rotated under it, and nobody else's", async () => {
    const { connection, folder } = await scripted((_request, response) => void response.end("ok"));
    writeFileSync(join(folder, "ca.crt"), createAuthority("somebody else").cert);
    await expect(text(connection)).rejects.toThrow(/SIGNATURE|UNABLE_TO_VERIFY/);
    writeFileSync(join(folder, "ca.crt"), authority.cert);
    expect(await text(connection)).toBe("ok");
  });

  it("trusts no server that the CA knows under another address, and tells it no token", async () => {
    const answer = vi.fn();
    const { connection } = await scripted(answer, ["127.0.0.2"]);
    await expect(text(connection)).rejects.toThrow("ERR_TLS_CERT_ALTNAME_INVALID");
    expect(answer).not.toHaveBeenCalled();
  });

  it("fails when there never was a token", async () => {
    const { connection, folder } = await scripted((_request, response) => void response.end());
    rmSync(join(folder, "token"));
    await expect(text(connection)).rejects.toThrow("cannot read");
  });

  it("passes on what a refusal says, and how long to wait", async () => {
    const { connection } = await scripted((_request, response) => {
      response
        .writeHead(429, { "retry-after": "3" })
        .end(JSON.stringify({ kind: "Status", message: "too many requests" }));
    });
    const trouble = await text(connection).catch((error: unknown) => error);
    expect(trouble).toBeInstanceOf(ApiTrouble);
    expect(trouble).toMatchObject({ message: "429 too many requests", status: 429, retryAfterMs: 3_000 });
  });

  it("passes on the words of a proxy that is no API server", async () => {
    const { connection } = await scripted((_request, response) => void response.writeHead(502).end("<h1>Bad Gateway"));
    await expect(text(connection)).rejects.toMatchObject({ message: "502 <h1>Bad Gateway", status: 502 });
  });

  it("gives a server up that never answers", async () => {
    const { connection } = await scripted(() => {});
    await expect(text(connection, { quietMs: 200 })).rejects.toThrow("no sign of life for 0.2 s");
  });

  it("gives a body up that goes silent without ending, as a half-open watch does", async () => {
    const { connection } = await scripted((_request, response) => void response.writeHead(200).write("{}\n"));
    await expect(text(connection, { quietMs: 200 })).rejects.toThrow("no sign of life for 0.2 s");
  });

  it("lets a body take its time as long as there are signs of life", async () => {
    const { connection } = await scripted((_request, response) => {
      let left = 6;
      const timer = setInterval(() => {
        if (left-- > 0) return void response.write(".");
        clearInterval(timer);
        response.end();
      }, 100);
    });
    expect(await text(connection, { quietMs: 400 })).toBe("......");
  });

  it("reports a body that breaks off", async () => {
    const { connection } = await scripted((_request, response) => {
      response.writeHead(200).write("{}\n", () => response.destroy());
    });
    await expect(text(connection)).rejects.toBeInstanceOf(ApiTrouble);
  });
});
