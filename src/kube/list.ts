// Lists a whole collection once, in pages, for commands that read and exit. To stay up to date, use a reflector.

import { asList, asMap, asText } from "../json/fields.ts";
import type { JsonObject } from "../json/types.ts";
import type { KubeClient } from "./client.ts";

/** client-go's page size. */
const PAGE_SIZE = 500;

/** Every object of the collection, each projected at once. */
export async function listAll<T>(
  client: Pick<KubeClient, "request">,
  path: string,
  project: (raw: unknown) => T,
  labelSelector?: string,
): Promise<T[]> {
  const found: T[] = [];
  let next: string | undefined;
  do {
    const query = { labelSelector, limit: PAGE_SIZE, continue: next };
    const page: JsonObject = await client.request("GET", path, { query });
    for (const item of asList(page["items"])) found.push(project(item));
    const token = asText(asMap(page["metadata"])["continue"]);
    next = token === "" ? undefined : token;
  } while (next !== undefined);
  return found;
}
