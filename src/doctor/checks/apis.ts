// The APIs of JobSet and of reprise: served, and with every field that reprise writes. Pure.
import { hasField, judgeCluster } from "../../api/prerequisites.ts";
import { asMap } from "../../json/fields.ts";
import { APPLY, type Check, fail, judgeRead, ok } from "../finding.ts";

const RELEASE = "https://github.com/kubernetes-sigs/jobset/releases/latest/download/manifests.yaml";
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

/** Fields that this version writes. A CRD without one drops it, or refuses the whole status. */
const STATUS_FIELDS: readonly (readonly string[])[] = [
  ["status", "handledRequests"],
  ["status", "ruleFailures"],
  ["status", "heldStages"],
  ["status", "history", "rule"],
  ["status", "history", "cause", "request"],
  ["status", "history", "cause", "candidates"],
];

export const repriseApi: Check = {
  name: "crd",
  describe: "The CRD InPlaceRestart is installed and as new as the programs. Helm does not upgrade CRDs.",
  scope: "installation",
  judge: ({ repriseApi: api }) =>
    judgeRead(
      api,
      "the OpenAPI document of reprise",
      () => [fail("the CRD InPlaceRestart is not installed, so no group can restart", APPLY)],
      (document) => {
        const schemas = asMap(asMap(document["components"])["schemas"]);
        const [, schema] = Object.entries(schemas).find(([key]) => key.endsWith(".InPlaceRestart")) ?? [];
        const missing = schema === undefined ? undefined : STATUS_FIELDS.find((path) => !hasField(schema, path));
        if (missing === undefined) return [ok("InPlaceRestart has every field")];
        const message = `the CRD InPlaceRestart is older than this program: it has no ${missing.join(".")}`;
        return [fail(message, "kubectl apply --server-side -f manifests/crd/reprise.dev_inplacerestarts.yaml")];
      },
    ),
};
