// Where collections of custom resources are in the API, and how to read an object that may not exist.
import { hasStatus } from "../../kube/api-error.ts";

interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** The collection in one or all namespaces. */
export function collectionPath({ group, version, plural }: ResourceType, namespace: string | undefined): string {
  const within = namespace === undefined ? "" : `/namespaces/${namespace}`;
  return `/apis/${group}/${version}${within}/${plural}`;
}

export async function orAbsent<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}
