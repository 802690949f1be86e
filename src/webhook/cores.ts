// The decisions behind the endpoints, bound to the settings of this install. Pure.
import type { Finding, Verdict } from "../api/admission.ts";
import type { Config } from "../api/config.ts";
import { inject } from "../inject/inject.ts";
import { createPatch, type PatchOperation } from "../inject/patch.ts";
import type { Cores, JobSetRequest } from "./admission.ts";

export function createCores(config: Pick<Config, "injection">): Cores {
  const decide = (request: JobSetRequest) => inject({ ...request, config: config.injection });
  return {
    inject: decide,
    patch: createPatch,
    validate: (request) => intact(request, decide),
  };
}

const RULE = "injection-intact";

/**
 * Whether injection would still change a JobSet after every mutating webhook has run: then it missed this one, or another
 * webhook undid a part. An UPDATE is not asked: its template is immutable, and JobSet's own webhook sees to that.
 */
function intact(request: JobSetRequest, decide: Cores["inject"]): Verdict {
  if (request.operation === "UPDATE") return passed("not-applicable", "the template of a JobSet is immutable");
  const outcome = decide(request);
  if (outcome.kind === "skipped") return passed("not-applicable", outcome.reason);
  if (outcome.kind === "refused") return failed(outcome.errors);
  const [first] = createPatch(request.object, outcome.object);
  return first === undefined ? passed("pass", "injection has nothing to add") : failed([missing(first)]);
}

function missing({ path }: PatchOperation): Finding {
  const message = "is not as injection leaves it: the webhook was not asked, or another one changed it; apply it again";
  return { rule: RULE, path: fieldPath(path), message };
}

/** /spec/replicatedJobs/0/name as users write it: spec.replicatedJobs[0].name. */
function fieldPath(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, key) => (/^\d+$/.test(key) || key.includes("/") ? `${path}[${key}]` : `${path}.${key}`), "")
    .replace(/^\./, "");
}

function passed(verdict: "pass" | "not-applicable", reason: string): Verdict {
  return { allowed: true, errors: [], warnings: [], results: [{ rule: RULE, verdict, reason }] };
}

function failed(errors: readonly Finding[]): Verdict {
  return { allowed: false, errors, warnings: [], results: [{ rule: RULE, verdict: "error", findings: errors }] };
}
