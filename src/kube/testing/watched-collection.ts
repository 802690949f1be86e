// A collection that is listed once and then sends events when a test says so, and a watch of it. For tests only.
import type { ServerResponse } from "node:http";
import { eventually } from "../../../test/eventually.ts";
import type { JsonObject } from "../../json/types.ts";
import { json, type ScriptedServer, scriptedServer } from "./scripted-server.ts";

interface Watch {
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface Collection {
  /** What the first list returns. */
  readonly items: readonly JsonObject[];
  /** Of the answer to a list. */
  readonly status: number;
}

interface WatchedCollection<W extends Watch> extends AsyncDisposable {
  readonly server: ScriptedServer;
  readonly watch: W;
  /** Sends an event to the watch. */
  appears(object: JsonObject): void;
}

/** Returns when the watch has begun, or at once if the server does not let it list. */
export async function watchedCollection<W extends Watch>(
  { items, status }: Collection,
  createWatch: (client: ScriptedServer["client"]) => W,
): Promise<WatchedCollection<W>> {
  let watching: ServerResponse | undefined;
  const server = await scriptedServer((_request, response, url) => {
    if (url.searchParams.has("watch")) {
      watching = response;
      response.writeHead(200).flushHeaders();
    } else if (status === 200) json(response, 200, { metadata: { resourceVersion: "4" }, items });
    else json(response, status, { kind: "Status", status: "Failure", code: status, message: "not for you" });
  });
  const watch = createWatch(server.client);
  void watch.start();
  if (status === 200) await eventually(() => watching !== undefined);
  return {
    server,
    watch,
    appears: (object) => watching?.write(`${JSON.stringify({ type: "ADDED", object })}\n`),
    async [Symbol.asyncDispose]() {
      await watch.stop();
      await server[Symbol.asyncDispose]();
    },
  };
}
