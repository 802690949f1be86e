// A proxy between one controller and the API server that keeps the controller's credentials. It records the writes and
// can kill the controller at any of them: before the API server sees the write, or after it was applied but before the
// response. So the program under test needs no fault points.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { createAuthority } from "../cluster/pki.ts";
import type { Server } from "../reprise-programs.ts";
import { describeWrite } from "./writes.ts";

export interface Fault {
  /** As returned by takeWrites. */
  readonly write: string;
  /** Whether the controller dies before or after the API server applies the write. */
  readonly moment: "before" | "after";
}

export interface FaultProxy extends AsyncDisposable {
  /** The API server for the controller. */
  readonly server: Server;
  /** The writes since the last call, in order of arrival. */
  takeWrites(): readonly string[];
  /** Calls `kill` at the next such write, without a response to the controller. Resolves when it is dead. */
  strike(fault: Fault, kill: () => Promise<void>): Promise<void>;
}

interface Armed extends Fault {
  readonly kill: () => Promise<void>;
  readonly struck: PromiseWithResolvers<void>;
}

export async function faultProxy(apiServer: Server): Promise<FaultProxy> {
  const authority = createAuthority("fault proxy");
  const agent = new Agent({ keepAlive: true, ca: apiServer.ca });
  let writes: string[] = [];
  let armed: Armed | undefined;

  const passOn = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const body = await buffer(incoming);
    const write = describeWrite(incoming.method ?? "", incoming.url ?? "", parsed(body));
    if (write !== undefined) writes.push(write);
    const fault = write !== undefined && armed?.write === write ? armed : undefined;
    if (fault !== undefined) armed = undefined;
    if (fault?.moment === "before") return await strike(fault);
    const answer = await forward(apiServer, agent, incoming, body, outgoing);
    if (fault !== undefined && isCarriedOut(answer)) {
      await buffer(answer);
      return await strike(fault);
    }
    // A conflict: the controller retries with a newer object.
    armed ??= fault;
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  };
  const proxy = createServer(
    authority.issue({ commonName: "127.0.0.1", ipAddresses: ["127.0.0.1"] }),
    (incoming, outgoing) => {
      // Controllers and API servers are killed on purpose. When one side ends, so does the other.
      passOn(incoming, outgoing).catch(() => outgoing.destroy());
    },
  );
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  return {
    server: { url: `https://127.0.0.1:${port}`, ca: authority.cert },
    takeWrites() {
      const taken = writes;
      writes = [];
      return taken;
    },
    strike(fault, kill) {
      const struck = Promise.withResolvers<void>();
      armed = { ...fault, kill, struck };
      return struck.promise;
    },
    async [Symbol.asyncDispose]() {
      proxy.close();
      proxy.closeAllConnections();
      agent.destroy();
    },
  };
}

async function strike({ kill, struck }: Armed): Promise<void> {
  await kill().then(struck.resolve, struck.reject);
}

/** The API server's response. The body of a watch has no end. */
async function forward(
  { url }: Server,
  agent: Agent,
  { method, url: path, headers }: IncomingMessage,
  body: Buffer,
  client: ServerResponse,
): Promise<IncomingMessage> {
  const { host: _proxy, ...passed } = headers;
  const onward = request(`${url}${path}`, { method: method ?? "GET", headers: passed, agent });
  client.on("close", () => onward.destroy());
  onward.on("error", () => client.destroy());
  onward.end(body);
  const [answer] = (await once(onward, "response")) as [IncomingMessage];
  answer.on("error", () => client.destroy());
  return answer;
}

function isCarriedOut({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined; // No body, or not JSON.
  }
}
