// The decisions behind the endpoints, bound to the settings of this install. Pure.
import type { Config } from "../api/config.ts";
import { inject } from "../inject/inject.ts";
import { validate } from "../validate/validate.ts";
import type { Cores } from "./admission.ts";
import { createWirePatch } from "./wire-patch.ts";

export function createCores({ injection }: Pick<Config, "injection">): Cores {
  return {
    inject: (request) => inject({ ...request, config: injection }),
    patch: createWirePatch,
    validate: (request) => validate({ ...request, config: injection }),
  };
}
