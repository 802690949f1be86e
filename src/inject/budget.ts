// The restart budget of a new JobSet: what its annotation, its Namespace, the config or its own fields say. Pure.
import type { Finding } from "../api/admission.ts";
import { annotatedMaxRestarts, type Budget, budgetText } from "../api/budget.ts";
import { ANNOTATION, MAX_INT32 } from "../api/names.ts";
import { type NamespaceLimit, type NamespaceLookup, UNANNOTATED } from "../api/namespace.ts";
import { readWholeNumber } from "../api/whole-number.ts";
import { quoted } from "../json/brief.ts";
import { objectAt } from "../json/edit.ts";
import type { JsonObject } from "../json/types.ts";
import { deriveBudget } from "./derive-budget.ts";
import type { Participant } from "./participation.ts";
import type { InjectionSettings } from "./settings.ts";

interface NewJobSet {
  readonly object: JsonObject;
  readonly namespace: string;
  readonly config: Pick<InjectionSettings, "defaultMaxRestarts">;
  readonly namespaces?: NamespaceLookup;
}

interface NewBudget {
  readonly budget: Budget;
  readonly warnings: readonly Finding[];
}

/** `recorded`: the budget in the record of the object, which was injected before or is a copy of such a JobSet. */
export function budgetOfNew(
  { object, namespace, config, namespaces }: NewJobSet,
  participants: readonly Participant[],
  recorded: Budget | undefined,
): NewBudget {
  const annotation = annotatedMaxRestarts(objectAt(objectAt(object, "metadata"), "annotations"));
  const limit = namespaces?.(namespace) ?? UNANNOTATED;
  const inNamespace = limit.kind === "known" ? readWholeNumber(limit.text ?? "") : readByOthers(recorded);
  const budget = resolveBudget({
    annotation,
    namespace: inNamespace,
    config: config.defaultMaxRestarts,
    derived: deriveBudget(objectAt(object, "spec") ?? {}, participants, recorded),
  });
  // An annotation of the JobSet decides alone, so the Namespace does not matter.
  const isDecided = annotation !== undefined || inNamespace !== undefined;
  return { budget, warnings: isDecided ? [] : namespaceWarnings(namespace, limit, budget) };
}

/** Another replica may have read the Namespace when it injected this JobSet. */
function readByOthers(recorded: Budget | undefined): number | undefined {
  return recorded?.from === "namespace" ? recorded.max : undefined;
}

interface BudgetChoices {
  readonly annotation: number | undefined;
  readonly namespace: number | undefined;
  readonly config: number | undefined;
  readonly derived: Budget;
}

/** The closest to the JobSet wins. */
export function resolveBudget({ annotation, namespace, config, derived }: BudgetChoices): Budget {
  if (annotation !== undefined) return { max: annotation, from: "annotation" };
  if (namespace !== undefined) return { max: namespace, from: "namespace" };
  return config === undefined ? derived : { max: config, from: "config" };
}

const RULE = "namespace-budget";

function namespaceWarnings(namespace: string, limit: NamespaceLimit, budget: Budget): Finding[] {
  if (limit.kind === "unavailable") {
    const message =
      `the budget is ${budgetText(budget)}, because ${ANNOTATION.maxRestarts} of Namespace ${namespace} could not be ` +
      `read; if the Namespace has it, set it on the JobSet too: ${limit.reason}`;
    return [{ rule: RULE, path: "", message }];
  }
  if (limit.text === undefined) return [];
  const message =
    `${quoted(limit.text)} in ${ANNOTATION.maxRestarts} of Namespace ${namespace} is not a whole number from 0 to ` +
    `${MAX_INT32} and is ignored, so the budget is ${budgetText(budget)}; correct it on the Namespace`;
  return [{ rule: RULE, path: "", message }];
}
