// A TCP relay on loopback that a test can cut, so that one client loses its server while others keep it.

import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";

export interface CuttableProxy extends AsyncDisposable {
  /** A copy of the kubeconfig that goes through the relay. */
  readonly kubeconfig: string;
  /** Drops every connection and refuses new ones. */
  cut(): void;
  mend(): void;
}

export async function cuttableProxy(kubeconfig: string, server: string): Promise<CuttableProxy> {
  const target = new URL(server);
  const sockets = new Set<Socket>();
  let isCut = false;
  const relay = createServer((incoming) => {
    if (isCut) {
      incoming.destroy();
      return;
    }
    const outgoing = connect(Number(target.port), target.hostname);
    for (const socket of [incoming, outgoing]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        incoming.destroy();
        outgoing.destroy();
      });
    }
    incoming.pipe(outgoing).pipe(incoming);
  });
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  const address = relay.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const copy = `${kubeconfig}-through-${port}`;
  writeFileSync(copy, readFileSync(kubeconfig, "utf8").replaceAll(server, `https://127.0.0.1:${port}`));
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    kubeconfig: copy,
    cut() {
      isCut = true;
      drop();
    },
    mend() {
      isCut = false;
    },
    async [Symbol.asyncDispose]() {
      relay.close();
      drop();
    },
  };
}
