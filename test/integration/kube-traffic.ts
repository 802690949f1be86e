// A client as a reflector uses it, with its requests counted.

import type { KubeClient } from "../../src/kube/client.ts";
import type { CollectionReader } from "../../src/kube/reflector.ts";

export interface Traffic extends CollectionReader {
  readonly lists: { readonly limit: unknown; readonly continued: boolean; readonly items: number }[];
  /** resourceVersion of each watch request. */
  readonly watches: unknown[];
}

export function counted(client: KubeClient): Traffic {
  const lists: Traffic["lists"] = [];
  const watches: unknown[] = [];
  return {
    server: client.server,
    lists,
    watches,
    async request(method, path, options) {
      const page = await client.request(method, path, options);
      const items = Array.isArray(page["items"]) ? page["items"].length : 0;
      lists.push({ limit: options.query["limit"], continued: options.query["continue"] !== undefined, items });
      return page;
    },
    stream(path, options) {
      watches.push(options.query["resourceVersion"]);
      return client.stream(path, options);
    },
  };
}
