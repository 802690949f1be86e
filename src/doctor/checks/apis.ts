// The APIs of JobSet and of reprise: served, and with every field that reprise writes. Pure.
import { hasField, judgeCluster } from "../../api/prerequisites.ts";
import { asMap, type Fields } from "../../json/fields.ts";
import { APPLY, type Check, fail, judgeRead, ok, type Verdict } from "../finding.ts";

const RELEASE = "https://github.com/kubernetes-sigs/jobset/releases/latest/download/manifests.yaml";
const APPLY_CRDS = "kubectl apply --server-side -k manifests/crd";
const INSTALL_JOBSET = `kubectl apply --server-side -f ${RELEASE}`;

export const jobSetApi: Check = {
  name: "jobset",
  describe: "JobSet is installed, and its CRD has the fields that injection writes. Older CRDs drop them.",
  scope: "cluster",
  judge: ({ jobSetApi: api }) =>
    judgeRead(
      api,
      "the OpenAPI document of JobSet",
      () => [fail("JobSet is not installed: its API is not served", INSTALL_JOBSET)],
      (document) => {
        const lack = judgeCluster({ version: {}, jobSetApi: document }).at(0);
        return lack === undefined
          ? [ok("JobSet is served, with every field that injection writes")]
          : [fail(lack.message.replace(/; upgrade.*/s, ""), INSTALL_JOBSET)];
      },
    ),
};

/** By kind, fields that this version writes. A CRD without one drops it, or refuses the whole object. */
const FIELDS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  InPlaceRestart: [
    ["status", "handledRequests"],
    ["status", "ruleFailures"],
    ["status", "heldStages"],
    ["status", "history", "rule"],
    ["status", "history", "cause", "request"],
    ["status", "history", "cause", "candidates"],
  ],
  GroupEpoch: [
    ["spec", "version"],
    ["spec", "heldStages"],
  ],
};

export const repriseApi: Check = {
  name: "crd",
  describe:
    "The CRDs InPlaceRestart and GroupEpoch are installed and as new as the programs. Helm does not upgrade CRDs.",
  scope: "installation",
  judge: ({ repriseApi: api }) =>
    judgeRead(
      api,
      "the OpenAPI document of reprise",
      () => [fail("the CRDs InPlaceRestart and GroupEpoch are not installed, so no group can restart", APPLY)],
      (document) => {
        const schemas = asMap(asMap(document["components"])["schemas"]);
        return Object.entries(FIELDS).map(([kind, fields]) => judgeKind(schemas, kind, fields));
      },
    ),
};

function judgeKind(schemas: Fields, kind: string, fields: readonly (readonly string[])[]): Verdict {
  const [, schema] = Object.entries(schemas).find(([key]) => key.endsWith(`.${kind}`)) ?? [];
  if (schema === undefined) return fail(`the CRD ${kind} is not installed, so no group can restart`, APPLY_CRDS);
  const missing = fields.find((path) => !hasField(schema, path));
  if (missing === undefined) return ok(`${kind} has every field`);
  return fail(`the CRD ${kind} is older than this program: it has no ${missing.join(".")}`, APPLY_CRDS);
}
