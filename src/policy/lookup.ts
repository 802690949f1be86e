// Looks up failure policies by name. A policy of the JobSet's namespace overrides one of the config file: its users
// know the exit codes of their jobs best. Pure: the shell passes in the content of the ConfigMaps.
import { FAILURE_POLICIES_CONFIG_MAP } from "../api/names.ts";
import { type DefinitionProblem, readDefinitionText } from "./definition.ts";
import type { ExitCodePolicy } from "./exit-codes.ts";

export type PolicyAnswer =
  | { readonly kind: "found"; readonly policy: ExitCodePolicy }
  /** `places`: where the lookup searched. */
  | { readonly kind: "unknown"; readonly places: string; readonly known: readonly string[] }
  | { readonly kind: "invalid"; readonly place: string; readonly problems: readonly DefinitionProblem[] }
  | { readonly kind: "unavailable"; readonly reason: string };

/** Reads only what is already known. */
export type PolicyLookup = (namespace: string, name: string) => PolicyAnswer;

/** The ConfigMap of one namespace: its texts by name, empty if there is no such ConfigMap. */
export type NamespacePolicies =
  | { readonly kind: "known"; readonly texts: ReadonlyMap<string, string> }
  | { readonly kind: "unavailable"; readonly reason: string };

interface PolicySources {
  /** Absent where ConfigMaps are not read. */
  readonly namespaced?: (namespace: string) => NamespacePolicies;
  /** The policies of the config file. */
  readonly configured: ReadonlyMap<string, ExitCodePolicy>;
}

export function createPolicyLookup({ namespaced, configured }: PolicySources): PolicyLookup {
  return (namespace, name) => {
    const own = namespaced?.(namespace);
    if (own?.kind === "unavailable") return own;
    const place = `ConfigMap ${FAILURE_POLICIES_CONFIG_MAP} of namespace ${namespace}`;
    const text = own?.texts.get(name);
    if (text !== undefined) {
      const read = readDefinitionText(text);
      return read.ok
        ? { kind: "found", policy: read.policy }
        : { kind: "invalid", place: `${place}, key ${name}`, problems: read.problems };
    }
    const policy = configured.get(name);
    if (policy !== undefined) return { kind: "found", policy };
    return {
      kind: "unknown",
      places: own === undefined ? "the config file" : `${place} or the config file`,
      known: [...new Set([...(own?.texts.keys() ?? []), ...configured.keys()])].sort(),
    };
  };
}
