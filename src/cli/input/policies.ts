// The failure policies that `inject` and `validate` know without a cluster: those of the config file, and those of
// ConfigMaps in the input, as if they were applied. Pure.
import { readIdentity } from "../../api/metadata.ts";
import { isPolicyConfigMap, readPolicyTexts } from "../../policy/config-map.ts";
import type { ExitCodePolicy } from "../../policy/exit-codes.ts";
import { createPolicyLookup, type PolicyLookup } from "../../policy/lookup.ts";
import { type InputDocument, objectsIn } from "./documents.ts";

export function policiesIn(
  documents: readonly InputDocument[],
  configured: ReadonlyMap<string, ExitCodePolicy>,
  defaultNamespace: string,
): PolicyLookup {
  const namespaces = new Map<string, ReadonlyMap<string, string>>();
  for (const { object } of documents.flatMap(({ value }) => objectsIn(value))) {
    if (isPolicyConfigMap(object)) {
      namespaces.set(readIdentity(object).namespace || defaultNamespace, readPolicyTexts(object));
    }
  }
  const namespaced = (namespace: string) => ({ kind: "known", texts: namespaces.get(namespace) ?? new Map() }) as const;
  return createPolicyLookup({ configured, namespaced });
}
