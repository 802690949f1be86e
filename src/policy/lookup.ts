// Where a failure policy's name leads. A policy of the JobSet's own namespace comes before one of the install: whoever
// is nearer to the job knows its exit codes better. Pure: what the ConfigMaps hold is handed in by the shell.
import { FAILURE_POLICIES_CONFIG_MAP } from "../api/names.ts";
import { type DefinitionProblem, readDefinitionText } from "./definition.ts";
import type { ExitCodePolicy } from "./exit-codes.ts";

export type PolicyAnswer =
  | { readonly kind: "found"; readonly policy: ExitCodePolicy }
  /** `places` is where it was looked for. */
  | { readonly kind: "unknown"; readonly places: string; readonly known: readonly string[] }
  | { readonly kind: "invalid"; readonly place: string; readonly problems: readonly DefinitionProblem[] }
  | { readonly kind: "unavailable"; readonly reason: string };

/** Pure for its caller: it only looks at what is already known. */
export type PolicyLookup = (namespace: string, name: string) => PolicyAnswer;

/** What is known of one namespace's ConfigMap: its texts by name, none when there is no such ConfigMap. */
export type NamespacePolicies =
  | { readonly kind: "known"; readonly texts: ReadonlyMap<string, string> }
  | { readonly kind: "unavailable"; readonly reason: string };

export interface PolicySources {
  /** Left out where ConfigMaps are not read at all. */
  readonly namespaced?: (namespace: string) => NamespacePolicies;
  /** Those of the config file. */
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
