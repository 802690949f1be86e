// The decisions behind the two endpoints, bound to this installation's configuration. Pure.
import type { Config } from "../config/config.ts";
import { inject } from "../inject/inject.ts";
import { createPolicyLookup, type NamespacePolicies } from "../policy/lookup.ts";
import { validate } from "../validate/validate.ts";
import type { Cores } from "./admission.ts";
import { createWirePatch } from "./wire-patch.ts";

/** `namespaced` is omitted if policies of namespaces are disabled. */
export function createCores(
  { injection, failurePolicies }: Pick<Config, "injection" | "failurePolicies">,
  namespaced?: (namespace: string) => NamespacePolicies,
): Cores {
  const policies = createPolicyLookup({
    configured: failurePolicies,
    ...(namespaced === undefined ? {} : { namespaced }),
  });
  return {
    inject: (request) => inject({ ...request, config: injection, policies }),
    patch: createWirePatch,
    validate: (request) => validate({ ...request, config: injection, policies }),
  };
}
