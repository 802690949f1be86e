// One HTTPS request with an optional client certificate, to ask a server whether it is ready.
import { Agent, request } from "node:https";

export interface ClientCredentials {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

export async function httpsStatus(url: string, credentials: ClientCredentials): Promise<number> {
  // A new connection each time: a pooled one may belong to a server that was killed.
  const agent = new Agent({ keepAlive: false });
  return await new Promise((resolve, reject) => {
    const outgoing = request(url, { ...credentials, agent, timeout: 5_000 }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error(`${url} does not answer`)));
    outgoing.on("error", reject);
    outgoing.end();
  });
}
