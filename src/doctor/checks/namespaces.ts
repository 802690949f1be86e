// Namespaces that are opted in, and JobSets in them that were not injected. Pure.
import { readJobSet } from "../../api/jobset.ts";
import { LABEL } from "../../api/names.ts";
import { defaultConfig } from "../../config/config.ts";
import { inject } from "../../inject/inject.ts";
import { asMap, asTextMap, type Fields } from "../../json/fields.ts";
import type { JsonObject } from "../../json/types.ts";
import { RESTART_EVERYTHING } from "../../policy/exit-codes.ts";
import { type Facts, nameOf, namespaceOf } from "../facts.ts";
import { type Check, judgeRead, listed, ok, type Verdict, warn } from "../finding.ts";

const ENABLED = "enabled";
const LABEL_COMMAND = `kubectl label namespace NAME ${LABEL.injection}=${ENABLED}`;

function labelOf(object: Fields): string | undefined {
  return asTextMap(asMap(object["metadata"])["labels"])[LABEL.injection];
}

/** Names of the namespaces whose JobSets are injected. */
function optedIn({ namespaces }: Facts): readonly string[] {
  if (namespaces.kind !== "read") return [];
  return namespaces.value.filter((each) => labelOf(each) === ENABLED).map(nameOf);
}

export const namespaces: Check = {
  name: "namespaces",
  describe: `A namespace has the label \`${LABEL.injection}=${ENABLED}\`, and none has it with another value.`,
  scope: "installation",
  judge: (facts) =>
    judgeRead(
      facts.namespaces,
      "Namespaces",
      () => [],
      (labeled) => {
        const wrong = labeled.filter((each) => labelOf(each) !== ENABLED);
        const names = optedIn(facts);
        const verdicts: Verdict[] = wrong.map((each) =>
          warn(
            `namespace ${nameOf(each)} has ${LABEL.injection}=${labelOf(each)}, which has no effect`,
            `kubectl label namespace ${nameOf(each)} --overwrite ${LABEL.injection}=${ENABLED}`,
          ),
        );
        if (names.length === 0)
          return [...verdicts, warn("no namespace is opted in, so nothing is injected", LABEL_COMMAND)];
        return [...verdicts, ok(`opted in: ${listed(names)}`)];
      },
    ),
};

export const notInjected: Check = {
  name: "not-injected",
  describe:
    "No JobSet of an opted-in namespace was created without injection. Such a JobSet does not restart in place.",
  scope: "installation",
  judge: (facts) =>
    judgeRead(
      facts.jobSets,
      "JobSets",
      () => [],
      (all) => {
        const within = new Set(optedIn(facts));
        const plain = all.filter((jobSet) => within.has(namespaceOf(jobSet)) && isMissed(jobSet));
        if (plain.length === 0) return [ok("every JobSet that is opted in was injected")];
        const names = listed(plain.map((jobSet) => `${namespaceOf(jobSet)}/${nameOf(jobSet)}`));
        const message = `opted in and created without injection: ${names}`;
        return [
          warn(message, "delete each one and apply it again; `reprise validate --from-cluster` says what happens"),
        ];
      },
    ),
};

/** Plain, not finished, and neither opted out nor left out for good. */
function isMissed(raw: JsonObject): boolean {
  const jobSet = readJobSet(raw);
  if (jobSet.labels[LABEL.injected] === "true" || jobSet.outcome !== "none") return false;
  const outcome = inject({
    operation: "CREATE",
    namespace: jobSet.namespace,
    object: raw,
    config: defaultConfig.injection,
    policies: () => ({ kind: "found", policy: RESTART_EVERYTHING }),
  });
  return outcome.kind !== "skipped";
}
