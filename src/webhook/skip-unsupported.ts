// Keeps injection away from a cluster in which it would silently not work: the JobSet passes unchanged, its owner is told why, and
// the reason is in the metric and the log. What is injected already keeps its injected parts, as ever. Pure.
import type { SkipReason } from "../api/admission.ts";
import type { Lack, LackReason } from "../api/prerequisites.ts";
import { injected } from "../validate/rules/injected.ts";
import type { Cores } from "./admission.ts";

/** The lacks that make an injected JobSet worse than a plain one. The others cannot be met where a JobSet is being admitted. */
const HARMFUL: ReadonlySet<LackReason> = new Set(["kubernetes-too-old", "jobset-prunes-fields"]);

type HarmfulReason = LackReason & SkipReason;

export function skipUnsupported(cores: Cores, lacks: () => readonly Lack[]): Cores {
  const harmful = () => lacks().find(isHarmful);
  return {
    ...cores,
    inject(request) {
      const outcome = cores.inject(request);
      const lack = harmful();
      if (lack === undefined || outcome.kind !== "injected" || request.operation !== "CREATE") return outcome;
      const message = `not injected, this JobSet will not restart in place: ${lack.message}`;
      return { kind: "skipped", reason: lack.reason, warnings: [{ rule: lack.reason, path: "", message }] };
    },
    validate(request) {
      const verdict = cores.validate(request);
      if (harmful() === undefined) return verdict;
      // It was told already, with the true reason.
      return { ...verdict, warnings: verdict.warnings.filter(({ rule }) => rule !== injected.name) };
    },
  };
}

function isHarmful(lack: Lack): lack is Lack & { readonly reason: HarmfulReason } {
  return HARMFUL.has(lack.reason);
}
