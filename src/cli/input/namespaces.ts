// The annotations of Namespaces that `inject` and `validate` know without a cluster: those in the input, as if it were
// applied. Pure.
import { readIdentity } from "../../api/metadata.ts";
import {
  isNamespace,
  type NamespaceLimit,
  type NamespaceLookup,
  readNamespaceLimit,
  UNANNOTATED,
} from "../../api/namespace.ts";
import { type InputDocument, objectsIn } from "./documents.ts";

export function namespacesIn(documents: readonly InputDocument[]): NamespaceLookup {
  const limits = new Map<string, NamespaceLimit>();
  for (const { object } of documents.flatMap(({ value }) => objectsIn(value))) {
    if (isNamespace(object)) limits.set(readIdentity(object).name, readNamespaceLimit(object));
  }
  return (namespace) => limits.get(namespace) ?? UNANNOTATED;
}
