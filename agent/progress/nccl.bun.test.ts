// Runs under bun, whose sockets the agent uses: see ../under-bun.test.ts.
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { freePort } from "../../test/free-port.ts";
import { rasAnswer } from "../testing/ras-answer.ts";
import { askNccl } from "./nccl.ts";

const IPS = ["10.0.0.1"];
const ANSWER = rasAnswer([{ hash: "0x1", ranks: [{ rank: 3, host: "10.0.0.1", count: 7 }] }]);

const servers: Server[] = [];
const sockets = new Set<Socket>();

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** Whatever listens at NCCL's port. */
async function serving(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    serve(socket);
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** As NVIDIA documents it: each line is answered in order, and the connection ends with the status. */
function asNccl(socket: Socket, said: string[] = []): void {
  let text = "";
  socket.on("data", (piece) => {
    text += piece;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      said.push(line);
      if (line.startsWith("CLIENT PROTOCOL")) socket.write("SERVER PROTOCOL 2\n");
      else if (line === "VERBOSE STATUS") socket.end(ANSWER);
      else socket.write("OK\n");
    }
  });
}

describe("NCCL's RAS service", () => {
  it("is asked for JSON, and its answer shows the own rank", async () => {
    const said: string[] = [];
    const port = await serving((socket) => asNccl(socket, said));
    expect(await askNccl(IPS, port)).toMatchObject({ kind: "seen", step: 7, rank: 3 });
    expect(said).toEqual(["CLIENT PROTOCOL 2", "TIMEOUT 5", "SET FORMAT json", "VERBOSE STATUS"]);
  });

  it("is absent while nothing listens", async () => {
    expect(await askNccl(IPS, await freePort())).toEqual({ kind: "absent" });
  });

  it.each<[string, (socket: Socket) => void]>([
    ["speaks something else", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ["closes at once", (socket) => socket.end()],
    ["resets the connection", (socket) => socket.resetAndDestroy()],
    ["is too old for JSON", (socket) => socket.end("SERVER PROTOCOL 2\nOK\nERROR: Unknown command\nJob summary\n")],
    ["never answers", () => {}],
    [
      "never ends",
      (socket) => {
        socket.write("SERVER PROTOCOL 2\nOK\nOK\n{");
        const timer = setInterval(() => socket.write(" "), 20);
        socket.on("close", () => clearInterval(timer));
      },
    ],
    [
      "floods",
      (socket) => {
        const flood = () => {
          while (!socket.destroyed && socket.write("x".repeat(65_536)));
        };
        socket.on("drain", flood);
        flood();
      },
    ],
  ])("is nothing to judge by if it %s", async (_, serve) => {
    const port = await serving(serve);
    expect((await askNccl(IPS, port, 500)).kind).toBe("unreadable");
  });
});
