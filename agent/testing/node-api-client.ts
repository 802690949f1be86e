// An API client for programs that run under node, which lacks bun's sockets.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import type { ApiClient, ApiRequest } from "../api/http-client.ts";
import { RequestError } from "../api/request-error.ts";

export class NodeApiClient implements ApiClient {
  readonly #address: { readonly host: string; readonly port: number };
  readonly #folder: string;

  constructor(address: { readonly host: string; readonly port: number }, credentialsFolder: string) {
    this.#address = address;
    this.#folder = credentialsFolder;
  }

  async open({ method, path, body }: ApiRequest): Promise<AsyncGenerator<Uint8Array, void, undefined>> {
    const read = (name: string) => readFileSync(join(this.#folder, name), "utf8").trim();
    const outgoing = request({
      ...this.#address,
      method,
      path,
      ca: read("ca.crt"),
      headers: {
        authorization: `Bearer ${read("token")}`,
        ...(body === undefined ? {} : { "content-type": body.contentType }),
      },
    });
    outgoing.end(body?.text);
    const [response]: IncomingMessage[] = await once(outgoing, "response");
    if (response === undefined) throw new RequestError("no response");
    const { statusCode: status = 0 } = response;
    if (status >= 300) throw new RequestError(String(status), { status });
    return pieces(response);
  }
}

async function* pieces(response: IncomingMessage): AsyncGenerator<Uint8Array, void, undefined> {
  yield* response;
}
