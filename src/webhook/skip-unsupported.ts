// Skips injection in a cluster where it would silently not work: the JobSet is admitted unchanged, its owner gets a
// warning, and metric and log show the reason. JobSets that are already injected keep their injected parts. Pure.
import type { SkipReason } from "../api/admission.ts";
import type { Lack, LackReason } from "../api/prerequisites.ts";
import { injected } from "../validate/rules/injected.ts";
import type { Cores } from "./admission.ts";

/** Missing prerequisites that make an injected JobSet worse than a plain one. The others do not matter at admission. */
const UNSUPPORTED: ReadonlySet<LackReason> = new Set(["kubernetes-too-old", "jobset-prunes-fields"]);

type UnsupportedReason = LackReason & SkipReason;

export function skipUnsupported(cores: Cores, lacks: () => readonly Lack[]): Cores {
  const unsupported = () => lacks().find(isUnsupported);
  return {
    ...cores,
    inject(request) {
      const outcome = cores.inject(request);
      const lack = unsupported();
      if (lack === undefined || outcome.kind !== "injected" || request.operation !== "CREATE") return outcome;
      const message = `not injected, this JobSet will not restart in place: ${lack.message}`;
      return { kind: "skipped", reason: lack.reason, warnings: [{ rule: lack.reason, path: "", message }] };
    },
    validate(request) {
      const verdict = cores.validate(request);
      if (unsupported() === undefined) return verdict;
      // The mutating webhook has already warned, with the actual reason.
      return { ...verdict, warnings: verdict.warnings.filter(({ rule }) => rule !== injected.name) };
    },
  };
}

function isUnsupported(lack: Lack): lack is Lack & { readonly reason: UnsupportedReason } {
  return UNSUPPORTED.has(lack.reason);
}
