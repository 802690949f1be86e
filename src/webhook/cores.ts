// The decisions behind the endpoints, bound to the settings of this install. Pure.
import type { Config } from "../api/config.ts";
import { inject } from "../inject/inject.ts";
import { createPatch } from "../inject/patch.ts";
import { validate } from "../validate/validate.ts";
import type { Cores } from "./admission.ts";

export function createCores({ injection }: Pick<Config, "injection">): Cores {
  return {
    inject: (request) => inject({ ...request, config: injection }),
    patch: createPatch,
    validate: (request) => validate({ ...request, config: injection }),
  };
}
