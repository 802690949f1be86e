// The decisions behind the two endpoints, bound to this installation's configuration. Pure.
import type { NamespaceLookup } from "../api/namespace.ts";
import type { Config } from "../config/config.ts";
import { inject } from "../inject/inject.ts";
import { createPolicyLookup, type NamespacePolicies } from "../policy/lookup.ts";
import { validate } from "../validate/validate.ts";
import type { Cores } from "./admission.ts";
import { createWirePatch } from "./wire-patch.ts";

/** `namespaced` and `namespaces` are omitted if policies of namespaces are disabled. */
export function createCores(
  { injection, failurePolicies }: Pick<Config, "injection" | "failurePolicies">,
  namespaced?: (namespace: string) => NamespacePolicies,
  namespaces?: NamespaceLookup,
): Cores {
  const policies = createPolicyLookup({
    configured: failurePolicies,
    ...(namespaced === undefined ? {} : { namespaced }),
  });
  const known = { config: injection, policies, ...(namespaces === undefined ? {} : { namespaces }) };
  return {
    inject: (request) => inject({ ...request, ...known }),
    patch: createWirePatch,
    validate: (request) => validate({ ...request, ...known }),
  };
}
