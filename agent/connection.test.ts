// Faults that a real API server cannot be made to show, from a TLS server whose answers are scripted.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createAuthority } from "../test/cluster/pki.ts";
import { type ApiRequest, ApiTrouble, Connection } from "./connection.ts";

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
}

async function scripted(answer: RequestListener): Promise<Scripted> {
  const pair = authority.issue({ commonName: "server", ipAddresses: ["127.0.0.1"] });
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
  return { connection, folder, connections: () => connections };
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

  it("trusts a CA that was rotated under it, and nobody else's", async () => {
    const { connection, folder } = await scripted((_request, response) => void response.end("ok"));
    writeFileSync(join(folder, "ca.crt"), createAuthority("somebody else").cert);
    await expect(text(connection)).rejects.toThrow(/SIGNATURE|UNABLE_TO_VERIFY/);
    writeFileSync(join(folder, "ca.crt"), authority.cert);
    expect(await text(connection)).toBe("ok");
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
